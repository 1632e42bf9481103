//! A still picture in few bytes: for readers and printers without scripts. It looks as Vega drew it, to a tenth of a
//! pixel; what marks say of themselves is there once the script has drawn it, and the caption says what it shows.

use super::outline::{Outline, pixels};
use std::collections::BTreeMap;

/// For the script, for what reads aloud, and the page's own font.
const LEFT_OUT: [&str; 7] = [
    "role",
    "aria-roledescription",
    "aria-label",
    "aria-hidden",
    "class",
    "pointer-events",
    "font-family",
];

/// What is so anyway where nothing is said.
const DEFAULTS: [(&str, &str); 6] = [
    ("stroke-width", "1"),
    ("x2", "0"),
    ("y2", "0"),
    ("opacity", "1"),
    ("font-weight", "normal"),
    ("transform", "translate(0,0)"),
];

/// What a group says for all that is in it.
const SAID_ONCE: [&str; 8] = [
    "fill",
    "stroke",
    "stroke-width",
    "stroke-linecap",
    "stroke-dasharray",
    "font-size",
    "font-weight",
    "text-anchor",
];

/// The picture in short; as it is where it is none that Vega wrote.
pub(super) fn in_short(svg: &str) -> String {
    let mut reader = Reader(svg);
    let picture = reader.node().filter(|_| reader.0.is_empty());
    let Some(Node::Element(mut picture)) = picture else {
        return svg.to_owned();
    };
    picture.shorten();
    picture.share_clips();
    let mut text = String::new();
    picture.write(&mut text);
    text
}

#[derive(Debug, Clone, PartialEq)]
enum Node<'a> {
    Element(Element<'a>),
    /// Between tags, escaped.
    Text(&'a str),
}

#[derive(Debug, Clone, PartialEq)]
struct Element<'a> {
    name: &'a str,
    /// Values are escaped.
    attributes: Vec<(&'a str, String)>,
    /// Of a shape, once it is read.
    outline: Option<Outline>,
    children: Vec<Node<'a>>,
}

/// Takes nodes from the front of a text.
struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    /// `None` at the end of an element, and where this is not what Vega writes.
    fn node(&mut self) -> Option<Node<'a>> {
        match self.0.strip_prefix('<') {
            Some(tag) if !tag.starts_with(['/', '!', '?']) => {
                self.0 = tag;
                let element = self.element();
                if element.is_none() {
                    // What is behind it is not read either.
                    self.0 = "";
                }
                element.map(Node::Element)
            }
            Some(_) => None,
            None => Some(Node::Text(self.until("<")?)),
        }
    }

    /// What stands before this, which stays; `None` where there is nothing.
    fn until(&mut self, end: &str) -> Option<&'a str> {
        let (before, behind) = self.0.split_at(self.0.find(end)?);
        self.0 = behind;
        (!before.is_empty()).then_some(before)
    }

    fn element(&mut self) -> Option<Element<'a>> {
        let name = self.0;
        let name = &name[..name.find([' ', '/', '>'])?];
        self.0 = &self.0[name.len()..];
        let mut element = Element {
            name,
            attributes: Vec::new(),
            outline: None,
            children: Vec::new(),
        };
        while let Some(attribute) = self.0.strip_prefix(' ') {
            let (name, value) = attribute.split_once("=\"")?;
            let (value, behind) = value.split_once('"')?;
            element.attributes.push((name, value.to_owned()));
            self.0 = behind;
        }
        if let Some(behind) = self.0.strip_prefix("/>") {
            self.0 = behind;
            return Some(element);
        }
        self.0 = self.0.strip_prefix('>')?;
        while let Some(node) = self.node() {
            element.children.push(node);
        }
        self.0 = self
            .0
            .strip_prefix("</")?
            .strip_prefix(name)?
            .strip_prefix('>')?;
        Some(element)
    }
}

impl<'a> Element<'a> {
    fn get(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &'a str, value: String) {
        self.remove(name);
        self.attributes.push((name, value));
    }

    fn remove(&mut self, name: &str) {
        self.attributes.retain(|(known, _)| *known != name);
    }

    fn is_shape(&self) -> bool {
        self.name == "path" || self.name == "line"
    }

    /// Groups that hold nothing, and shapes that have no colour: those of Vega have their own.
    fn is_unseen(&self) -> bool {
        let has_no_colour = self.get("fill").is_none() && self.get("stroke").is_none();
        self.get("display") == Some("none")
            || self.name == "g" && self.children.is_empty()
            || self.is_shape() && (has_no_colour || self.get("opacity") == Some("0"))
    }

    fn shorten(&mut self) {
        self.attributes.retain(|(name, value)| {
            !LEFT_OUT.contains(name) && !DEFAULTS.contains(&(*name, value))
        });
        if self.name == "defs" {
            return;
        }
        self.become_path();
        self.place_text();
        let mut kept: Vec<Node<'a>> = Vec::new();
        for mut child in std::mem::take(&mut self.children) {
            if let Node::Element(element) = &mut child {
                element.shorten();
                if element.is_unseen() {
                    continue;
                }
                if element.name == "g" && element.attributes.is_empty() {
                    element
                        .children
                        .drain(..)
                        .for_each(|inner| keep(&mut kept, inner));
                    continue;
                }
            }
            keep(&mut kept, child);
        }
        self.children = kept;
        if self.name == "g" {
            self.say_once();
        }
    }

    /// Of a shape that is no more than moved.
    fn read_outline(&self) -> Option<Outline> {
        let by = self.get("transform").map_or(Some([0.0; 2]), shift)?;
        let number = |name: &str| self.get(name).map_or(Some(0.0), |text| text.parse().ok());
        match self.name {
            "path" => Outline::read(self.get("d")?, by),
            "line" => {
                let [from, to] = [["x1", "y1"], ["x2", "y2"]];
                let place = |[x, y]: [&str; 2]| Some([number(x)? + by[0], number(y)? + by[1]]);
                Some(Outline::of_line(place(from)?, place(to)?))
            }
            _ => None,
        }
    }

    fn become_path(&mut self) {
        self.outline = self.read_outline();
        if self.outline.is_some() {
            self.name = "path";
            for name in ["transform", "d", "x1", "y1", "x2", "y2"] {
                self.remove(name);
            }
        }
    }

    /// Texts that are no more than moved have a place.
    fn place_text(&mut self) {
        let Some(by) = self.get("transform").and_then(shift) else {
            return;
        };
        if self.name == "text" {
            self.remove("transform");
            for (name, value) in ["x", "y"].into_iter().zip(by) {
                self.set(name, pixels((value * 10.0).round() as i64));
            }
        }
    }

    /// What all in this group say is said by the group.
    fn say_once(&mut self) {
        if self.children.len() < 2 {
            return;
        }
        for name in SAID_ONCE {
            let said = self.children.iter().map(|child| match child {
                Node::Element(element) => element.get(name),
                Node::Text(_) => None,
            });
            let said: Option<Vec<_>> = said.collect();
            let Some(said) = said.filter(|said| said.windows(2).all(|two| two[0] == two[1])) else {
                continue;
            };
            let value = said
                .first()
                .map_or(String::new(), |value| (*value).to_owned());
            for child in &mut self.children {
                if let Node::Element(element) = child {
                    element.remove(name);
                }
            }
            self.set(name, value);
        }
    }

    /// Clips that cut the same are one.
    fn share_clips(&mut self) {
        let mut clips = BTreeMap::new();
        let mut same = BTreeMap::new();
        for child in &mut self.children {
            if let Node::Element(defs) = child
                && defs.name == "defs"
            {
                defs.children.retain(|clip| {
                    let Node::Element(clip) = clip else {
                        return true;
                    };
                    let mut cut = String::new();
                    clip.children.iter().for_each(|child| child.write(&mut cut));
                    let id = clip.get("id").unwrap_or_default().to_owned();
                    let first = clips.entry(cut).or_insert_with(|| id.clone()).clone();
                    let is_first = first == id;
                    same.insert(format!("url(#{id})"), format!("url(#{first})"));
                    is_first
                });
            }
        }
        self.clip_by(&same);
    }

    fn clip_by(&mut self, same: &BTreeMap<String, String>) {
        for (name, value) in &mut self.attributes {
            if *name == "clip-path"
                && let Some(first) = same.get(value)
            {
                value.clone_from(first);
            }
        }
        for child in &mut self.children {
            if let Node::Element(element) = child {
                element.clip_by(same);
            }
        }
    }

    fn write(&self, text: &mut String) {
        *text += "<";
        *text += self.name;
        for (name, value) in &self.attributes {
            *text += &format!(" {name}=\"{value}\"");
        }
        if let Some(outline) = &self.outline {
            *text += &format!(" d=\"{}\"", outline.text());
        }
        if self.children.is_empty() {
            *text += "/>";
            return;
        }
        *text += ">";
        self.children.iter().for_each(|child| child.write(text));
        *text += &format!("</{}>", self.name);
    }
}

impl Node<'_> {
    fn write(&self, text: &mut String) {
        match self {
            Node::Element(element) => element.write(text),
            Node::Text(words) => *text += words,
        }
    }
}

/// Behind the others; as part of the one before where both are shapes that look alike.
fn keep<'a>(kept: &mut Vec<Node<'a>>, node: Node<'a>) {
    if let (Some(Node::Element(last)), Node::Element(next)) = (kept.last_mut(), &node)
        && last.attributes == next.attributes
        && let (Some(outline), Some(more)) = (&mut last.outline, &next.outline)
    {
        outline.join(more);
    } else {
        kept.push(node);
    }
}

/// `translate(3,4)`, and nothing behind it.
fn shift(transform: &str) -> Option<[f64; 2]> {
    let (x, y) = transform
        .strip_prefix("translate(")?
        .strip_suffix(')')?
        .split_once(',')?;
    Some([x.parse().ok()?, y.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::in_short;

    #[test]
    fn marks_that_look_alike_are_one() {
        let svg = r##"<svg a="1"><g role="graphics-symbol" aria-roledescription="rect mark" aria-label="x: 1 &lt; 2"><path d="M0,0h2" fill="#123" opacity="1"/><path transform="translate(5,5)" d="M0,0h2" fill="#123"/><path d="M9,9h1" fill="#456"/></g></svg>"##;
        let still = r##"<svg a="1"><path fill="#123" d="m0,0h2m3,5h2"/><path fill="#456" d="m9,9h1"/></svg>"##;
        assert_eq!(in_short(svg), still);
    }

    #[test]
    fn what_is_not_seen_is_left_out() {
        let svg = r##"<svg><g transform="translate(3,4)"><path d="M0,0h9v9Z"/><g><g/></g><path d="" display="none"/><line y2="-5" stroke="#9aa0a8"/></g></svg>"##;
        let still = r##"<svg><g transform="translate(3,4)"><path stroke="#9aa0a8" d="m0,0v-5"/></g></svg>"##;
        assert_eq!(in_short(svg), still);
    }

    #[test]
    fn what_all_texts_of_a_group_say_is_said_once() {
        let svg = r##"<svg><g><text fill="#123" transform="translate(0,113.04)" font-size="11px">105.77</text><text fill="#123" transform="translate(1,2) rotate(-90)" font-size="12px">&lt;</text></g></svg>"##;
        let still = r##"<svg><g fill="#123"><text font-size="11px" x="0" y="113">105.77</text><text transform="translate(1,2) rotate(-90)" font-size="12px">&lt;</text></g></svg>"##;
        assert_eq!(in_short(svg), still);
    }

    #[test]
    fn clips_that_cut_the_same_are_one() {
        let clip =
            |id: u8| format!("<clipPath id=\"clip{id}\"><rect x=\"0\" width=\"5\"/></clipPath>");
        let used = |id: u8| {
            format!("<g clip-path=\"url(#clip{id})\"><path fill=\"#123\" d=\"m0,{id}h2\"/></g>")
        };
        let svg = format!(
            "<svg>{}<defs>{}{}</defs></svg>",
            used(1).replace('m', "M") + &used(2).replace('m', "M"),
            clip(1),
            clip(2)
        );
        let still = in_short(&svg);
        assert_eq!(still.matches("<clipPath").count(), 1, "{still}");
        assert_eq!(still.matches("url(#clip1)").count(), 2, "{still}");
    }

    #[test]
    fn what_is_no_picture_is_as_it_was() {
        for odd in ["", "words", "<svg", "<svg><g></svg>", "<svg a=1/>"] {
            assert_eq!(in_short(odd), odd);
        }
    }
}
