//! Commands that are printed to be pasted into a shell.

/// A word as a shell reads it: in single quotes where it holds anything but plain characters.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_stays_one() {
        for (word, written) in [
            ("runs/ping-1", "runs/ping-1"),
            ("my runs/ping-1", "'my runs/ping-1'"),
            ("it's", r"'it'\''s'"),
            ("~/$HOME", "'~/$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), written);
        }
    }
}
