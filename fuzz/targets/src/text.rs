//! Bytes as text.

/// The longest beginning that is text.
pub(crate) fn text(data: &[u8]) -> &str {
    match str::from_utf8(data) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&data[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Texts as seeds.
pub(crate) fn seeds<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Vec<u8>> {
    let bytes = texts.into_iter().map(|text| text.as_bytes().to_vec());
    bytes.collect()
}
