//! Counts and lists of names as they stand in sentences.

/// `1 packet`, `2 packets`.
pub fn plural(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// The verb behind a count: `1 packet was`, `2 packets were`.
pub const fn were(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// Each once, in the order in which they first appear.
pub fn each_once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// `udp, tcp or stamp`.
pub fn either(names: &[impl AsRef<str>]) -> String {
    listed(names, "or")
}

/// `udp, tcp and stamp`.
pub fn all_of(names: &[impl AsRef<str>]) -> String {
    listed(names, "and")
}

fn listed(names: &[impl AsRef<str>], last: &str) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [first @ .., end] if !first.is_empty() => format!("{} {last} {end}", first.join(", ")),
        _ => names.concat(),
    }
}

/// The first by name, at most `most` of them, and how many more there are: `wait 1ms; wait 4ms; and 3 more`.
pub fn a_few(names: &[impl AsRef<str>], most: usize) -> String {
    let mut shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let more = names.len() - shown.len();
    let more = format!("and {more} more");
    if names.len() > most {
        shown.push(&more);
    }
    shown.join("; ")
}

/// The beginning of a sentence.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_sentences_do() {
        let names = ["a", "b", "c"];
        assert_eq!(either(&names), "a, b or c");
        assert_eq!(all_of(&names[..2]), "a and b");
        assert_eq!(either(&names[..1]), "a");
        assert_eq!(all_of(&names[..0]), "");
        assert_eq!(a_few(&names, 3), "a; b; c");
        assert_eq!(a_few(&names, 1), "a; and 2 more");
        assert_eq!(plural(1, "hop") + ", " + &plural(0, "hop"), "1 hop, 0 hops");
        assert_eq!(capitalised("élan") + &capitalised(""), "Élan");
    }

    #[test]
    fn what_comes_again_stands_where_it_came_first() {
        assert_eq!(each_once(["b", "a", "b", "c", "a"]), ["b", "a", "c"]);
    }
}
