//! Escaping, and the hashes by which a content security policy knows what is in the page.

use sha2::{Digest, Sha256};

/// Any text as the text of an element or of a quoted attribute.
pub(crate) fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Text in which what stands between backticks is code.
pub(super) fn prose(words: &str) -> String {
    let mut parts = words.split('`').map(text);
    let mut prose = parts.next().unwrap_or_default();
    while let Some(code) = parts.next() {
        match parts.next() {
            Some(rest) => prose += &format!("<code>{code}</code>{rest}"),
            None => prose += &format!("`{code}"),
        }
    }
    prose
}

/// JSON that may stand in a script element: no `<` can end it.
pub(crate) fn json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// `sha256-…` of an inline script or style, as the policy names it.
pub(crate) fn hash(content: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(content)))
}

/// RFC 4648 §4.
fn base64(bytes: &[u8]) -> String {
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
            assert_eq!(prose(words), expected);
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
    fn markup_becomes_text() {
        assert_eq!(text("a<b>&\"'µ"), "a&lt;b&gt;&amp;&quot;&#39;µ");
        assert_eq!(json(&serde_json::json!("</script>")), "\"\\u003c/script>\"");
    }
}
