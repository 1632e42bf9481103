//! What stands in a page and is no text: code and data, and the hashes by which a content security policy knows what
//! is in the page.

use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use std::io::Write;

/// Text in which what stands between backticks is code.
pub(super) fn prose(words: &str) -> Markup {
    let parts: Vec<_> = words.split('`').collect();
    // The last has no end where it is one of code.
    let is_code = |k: usize| k % 2 == 1 && k + 1 < parts.len();
    html! {
        @for (k, part) in parts.iter().enumerate() {
            @if is_code(k) { code { (part) } }
            @else if k % 2 == 1 { "`" (part) }
            @else { (part) }
        }
    }
}

/// JSON that may stand in a script element: no `<` can end it.
pub(super) fn json(value: &serde_json::Value) -> Markup {
    PreEscaped(value.to_string().replace('<', "\\u003c"))
}

/// `sha256-…` of an inline script or style, as the policy names it.
pub(crate) fn hash(content: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(content)))
}

/// A text as gzip in base64.
pub(super) fn packed(content: &str) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    // Memory takes it all.
    let packed = packer
        .write_all(content.as_bytes())
        .and_then(|()| packer.finish());
    base64(&packed.unwrap_or_default())
}

/// RFC 4648 §4.
pub(super) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |k: usize| u32::from(chunk.get(k).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for k in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= chunk.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_backticks() {
        for (words, expected) in [
            ("", ""),
            (
                "run `a<b` or `c`",
                "run <code>a&lt;b</code> or <code>c</code>",
            ),
            ("one ` alone", "one ` alone"),
        ] {
            assert_eq!(prose(words).into_string(), expected);
        }
    }

    #[test]
    fn base64_as_in_rfc_4648_section_10() {
        for (bytes, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), expected);
        }
    }

    #[test]
    fn the_hash_of_nothing_is_the_known_one() {
        assert_eq!(
            hash(""),
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
    }

    #[test]
    fn data_cannot_end_its_script() {
        let hostile = serde_json::json!("</script>");
        assert_eq!(json(&hostile).into_string(), "\"\\u003c/script>\"");
    }
}
