//! Sentences that differ in their numbers alone.

/// Units that stand after a number, of which one quantity has several.
const UNITS: [&str; 14] = [
    "ns", "µs", "ms", "s", "min", "h", "B", "kB", "MB", "KiB", "MiB", "kbit/s", "Mbit/s", "Gbit/s",
];

/// The sentence with `#` in place of each number that stands alone and of its unit; names such as `s1` stay.
pub fn without_numbers(sentence: &str) -> String {
    let mut after_number = false;
    let words = sentence.split(' ').map(|word| {
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
        let is_number = bare.parse::<f64>().is_ok();
        let is_unit = after_number && UNITS.contains(&bare);
        after_number = is_number;
        match is_number || is_unit {
            true => word.replace(bare, "#"),
            false => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Each sentence once. Of those that differ in their numbers alone, the first, and how many others there are.
pub(super) fn merged(sentences: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for sentence in sentences {
        let key = without_numbers(&sentence);
        match kinds.iter_mut().find(|(known, _)| *known == key) {
            Some((_, all)) if all.contains(&sentence) => {}
            Some((_, all)) => all.push(sentence),
            None => kinds.push((key, vec![sentence])),
        }
    }
    let kinds = kinds.into_iter().map(|(_, all)| {
        let others = all.len() - 1;
        let first = all.into_iter().next().unwrap_or_default();
        match others {
            0 => first,
            others => format!("{first} (in other trials with other numbers: {others} more)"),
        }
    });
    kinds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_that_differ_in_numbers_alone_are_one() {
        let all = [
            "settles after 100 packets (60)",
            "settles after 160 packets (60)",
            "at s1",
            "at s2",
            "at s1",
            "late by 988 ns, 99 % by 1.51 ms; so",
            "late by 1.01 µs, 99 % by 2 s; so",
        ];
        let found = merged(all.map(str::to_owned));
        let expected = [
            "settles after 100 packets (60) (in other trials with other numbers: 1 more)",
            "at s1",
            "at s2",
            "late by 988 ns, 99 % by 1.51 ms; so (in other trials with other numbers: 1 more)",
        ];
        assert_eq!(found, expected);
    }
}
