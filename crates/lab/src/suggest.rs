//! Suggestions for misspelt words: "did you mean …?".

/// The candidate with the smallest edit distance to a word, whatever their capitals, if at most a third of its length (but at
/// least 1). Nothing is close to no word.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    let word = word.to_lowercase();
    let distance = |candidate: &str| strsim::damerau_levenshtein(&word, &candidate.to_lowercase());
    candidates
        .into_iter()
        .map(|candidate| (distance(candidate), candidate))
        .filter(|&(distance, _)| distance <= allowed && !word.is_empty())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// A help text: the closest candidate, or else all candidates. `None` without candidates.
pub(crate) fn choices<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(candidate) = closest(word, candidates.clone()) {
        return Some(format!("did you mean `{candidate}`?"));
    }
    let all: Vec<_> = candidates.into_iter().map(|c| format!("`{c}`")).collect();
    match all.as_slice() {
        [] => None,
        [one] => Some(format!("there is only {one}")),
        _ => Some(format!("one of {}", all.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_do_not_make_words_differ() {
        let known = ["FIFO", "EFCI", "fq"];
        assert_eq!(closest("fifo", known), Some("FIFO"));
        assert_eq!(closest("EFCl", known), Some("EFCI"));
        assert_eq!(closest("Fq", known), Some("fq"));
        assert_eq!(closest("red", known), None);
    }

    #[test]
    fn nothing_is_close_to_no_word() {
        assert_eq!(closest("", ["2", "1.1"]), None);
    }
}
