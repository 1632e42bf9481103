//! The pages of a web server, as files that are called by their sizes.

use super::wanted::Wanted;
use delaylab_model::path::server::page_size;
use std::collections::BTreeSet;

/// What pages are full of: text compresses as pages do.
const WORDS: &[u8] = b"delay jitter queue buffer window packet switch host path clock loss rate ";

/// Every page that is asked for, and the one of a path that says no size.
pub fn files(wanted: &Wanted) -> impl Iterator<Item = (String, Vec<u8>)> + use<> {
    let pages = wanted.pages.iter().map(String::as_str);
    let sizes: BTreeSet<u64> = pages.chain([""]).map(page_size).collect();
    sizes.into_iter().map(|size| (size.to_string(), page(size)))
}

/// The last segments of paths that are more than letters and digits say no size, and could say something to a server's
/// configuration: without them.
pub fn named(wanted: &Wanted) -> impl Iterator<Item = &String> {
    let plain =
        |page: &&String| !page.is_empty() && page.bytes().all(|byte| byte.is_ascii_alphanumeric());
    wanted.pages.iter().filter(plain)
}

/// Text of no great variety, none of it like the next: a generator that begins anew for each page.
fn page(size: u64) -> Vec<u8> {
    let mut state: u32 = 1;
    let mut text = Vec::with_capacity(size as usize);
    while (text.len() as u64) < size {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let from = (state >> 16) as usize % (WORDS.len() - 8);
        text.extend_from_slice(&WORDS[from..from + 8]);
    }
    text.truncate(size as usize);
    text
}
