//! Suggestions for misspelt words: "did you mean …?".

/// The candidate with the smallest edit distance to a word, if at most a third of its length (but at least 1).
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, candidate), candidate))
        .filter(|&(distance, _)| distance <= allowed)
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
