//! As much of XML as tools write: tags, their attributes, and the text between them. No entity but the
//! five of XML, no document type.

use super::Imported;

/// A tag, or the text between two.
#[derive(Debug, Clone, PartialEq)]
pub enum Part<'a> {
    /// `<name key="value">`; of `<name/>` an end follows.
    Open(&'a str, &'a str),
    /// `</name>`
    Close(&'a str),
    /// What is not blank.
    Text(&'a str),
    /// `<!-- … -->`
    Comment(&'a str),
}

/// The parts of a document, as far as it is whole.
pub struct Parts<'a> {
    rest: &'a str,
    /// The end of a tag that opened and closed at once.
    closes: Option<&'a str>,
}

impl<'a> Parts<'a> {
    pub const fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            closes: None,
        }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        if let Some(name) = self.closes.take() {
            return Some(Part::Close(name));
        }
        loop {
            self.rest = self.rest.trim_start();
            let Some(tag) = self.rest.strip_prefix('<') else {
                let end = self.rest.find('<')?;
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(Part::Text(text.trim_end()));
            };
            if let Some(comment) = tag.strip_prefix("!--") {
                let (comment, rest) = comment.split_once("-->")?;
                self.rest = rest;
                return Some(Part::Comment(comment.trim()));
            }
            let (tag, rest) = tag.split_once('>')?;
            self.rest = rest;
            if tag.starts_with(['?', '!']) {
                continue;
            }
            if let Some(name) = tag.strip_prefix('/') {
                return Some(Part::Close(name.trim()));
            }
            let bare = tag.strip_suffix('/').unwrap_or(tag);
            let (name, attributes) = bare.split_once(char::is_whitespace).unwrap_or((bare, ""));
            if bare.len() < tag.len() {
                self.closes = Some(name);
            }
            return Some(Part::Open(name, attributes));
        }
    }
}

/// Says so where a document did not end.
pub fn warn_if_cut(ended: bool, imported: &mut Imported) {
    if !ended {
        imported.warn("the file ends in the middle of its XML: what stands before was read");
    }
}

/// The value of an attribute.
pub fn attribute<'a>(attributes: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = attributes;
    while let Some((name, behind)) = rest.split_once('=') {
        let behind = behind.trim_start();
        let quote = behind.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, next) = behind[1..].split_once(quote)?;
        if name.trim() == key {
            return Some(value);
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_text_and_attributes() {
        let text = "<?xml version=\"1.0\"?>\n<a b='1' c = \"x y\"><v> 1.5 </v><d/><!-- now --></a>";
        let all: Vec<_> = Parts::new(text).collect();
        assert_eq!(
            all,
            [
                Part::Open("a", "b='1' c = \"x y\""),
                Part::Open("v", ""),
                Part::Text("1.5"),
                Part::Close("v"),
                Part::Open("d", ""),
                Part::Close("d"),
                Part::Comment("now"),
                Part::Close("a"),
            ]
        );
        assert_eq!(attribute("b='1' c = \"x y\"", "c"), Some("x y"));
        assert_eq!(attribute("b='1' c", "c"), None);
    }
}
