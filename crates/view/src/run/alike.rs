//! Sentences that differ in their numbers alone.

/// Units that stand after a number, of which one quantity has several, and how many of the smallest each is.
const UNITS: [(&str, f64); 17] = [
    ("ns", 1.0),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
];

/// The sentence with `#` in place of each number that stands alone and of its unit; names such as `s1` stay.
pub fn without_numbers(sentence: &str) -> String {
    let mut after_number = false;
    let words = sentence.split(' ').map(|word| {
        let bare = bare(word);
        let is_number = bare.parse::<f64>().is_ok();
        let is_unit = after_number && UNITS.iter().any(|(name, _)| *name == bare);
        after_number = is_number;
        match is_number || is_unit {
            true => word.replace(bare, "#"),
            false => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Without the punctuation around it. Not without a backtick: what stands between two is a name, as in `up 1`.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| c.is_ascii_punctuation() && c != '`')
}

/// Each sentence once. Of those that differ in their numbers alone, the one in which the first number that differs is
/// the largest, and how many others there are: what is worst of all is to be known.
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
    let kinds = kinds.into_iter().map(|(_, all)| match &all[..] {
        [only] => only.clone(),
        all => format!(
            "{} (in other trials with other numbers: {} more)",
            largest(all),
            all.len() - 1
        ),
    });
    kinds.collect()
}

/// The one whose first number that differs from those of another is the largest.
fn largest(alike: &[String]) -> &str {
    let all: Vec<Vec<f64>> = alike.iter().map(|sentence| numbers(sentence)).collect();
    let count = all.first().map_or(0, Vec::len);
    let differs = |&at: &usize| all.iter().any(|own| own.get(at) != all[0].get(at));
    let at = (0..count).find(differs).unwrap_or(0);
    let number = |own: &[f64]| own.get(at).copied().unwrap_or(0.0);
    // Of the same the first.
    let largest = all.iter().zip(alike).rev();
    let largest = largest.max_by(|(a, _), (b, _)| number(a).total_cmp(&number(b)));
    largest.map_or("", |(_, sentence)| sentence)
}

/// What stands as `#` in [`without_numbers`], each in the smallest of its units.
fn numbers(sentence: &str) -> Vec<f64> {
    let words: Vec<&str> = sentence.split(' ').map(bare).collect();
    let behind = words.iter().skip(1).copied().chain([""]);
    let pairs = words.iter().zip(behind);
    let sizes = pairs.filter_map(|(word, unit)| Some(word.parse::<f64>().ok()? * size_of(unit)));
    sizes.collect()
}

/// How many of the smallest one a unit is; 1 of what is none.
fn size_of(unit: &str) -> f64 {
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    known.map_or(1.0, |(_, size)| *size)
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
            "load `up 1` ended",
            "load `up 2` ended",
            "late by 988 ns, 99 % by 1.51 ms; so",
            "late by 1.01 µs, 99 % by 2 s; so",
            "3 of 1000 packets at 700 bit/s",
            "3 of 1000 packets at 3 kbit/s",
            "3 of 1000 packets at 2 kbit/s",
        ];
        let found = merged(all.map(str::to_owned));
        let expected = [
            "settles after 160 packets (60) (in other trials with other numbers: 1 more)",
            "at s1",
            "at s2",
            "load `up 1` ended",
            "load `up 2` ended",
            "late by 1.01 µs, 99 % by 2 s; so (in other trials with other numbers: 1 more)",
            "3 of 1000 packets at 3 kbit/s (in other trials with other numbers: 2 more)",
        ];
        assert_eq!(found, expected);
    }
}
