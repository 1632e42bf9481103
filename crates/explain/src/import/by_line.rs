//! Reading line by line what a tool printed, and taking note of lines that nothing could be made of.

use super::text::Strange;
use super::{Format, Imported, Input};

/// Hands each line to `take`, which is false where it could make nothing of it; at the end `finish` puts together
/// what is known.
pub fn by_line<T>(
    input: Input<'_>,
    format: &'static Format,
    mut known: T,
    take: impl Fn(&mut T, &str, &mut Imported) -> bool,
    finish: impl FnOnce(T, &mut Imported),
) -> Imported {
    let mut text = input.lines();
    let mut imported = Imported::new(format);
    let mut strange = Strange::default();
    while let Some((number, line)) = text.next() {
        if !take(&mut known, line, &mut imported) {
            strange.note(number, line);
        }
    }
    finish(known, &mut imported);
    text.warn_if_cut(&mut imported);
    strange.warn(&mut imported);
    imported
}

/// The same of a file that may hold the output of several calls of a tool, where what is known of a call tells that a
/// line is of the next one.
pub fn by_turns<C: Default>(
    input: Input<'_>,
    format: &'static Format,
    ends_before: impl Fn(&C, &str) -> bool,
    take: impl Fn(&mut C, &str) -> bool,
    finish: impl Fn(C, &mut Imported),
) -> Imported {
    let take = |call: &mut C, line: &str, imported: &mut Imported| {
        if ends_before(call, line) {
            finish(std::mem::take(call), imported);
        }
        take(call, line)
    };
    by_line(input, format, C::default(), take, &finish)
}

/// The same of a file that may hold the output of several calls of a tool. A line that begins a call ends the one
/// before; lines before the first such line are of a call whose beginning is missing.
pub fn by_call<C: Default>(
    input: Input<'_>,
    format: &'static Format,
    begun_by: impl Fn(&str) -> Option<C>,
    take: impl Fn(&mut C, &str) -> bool,
    finish: impl Fn(C, &mut Imported),
) -> Imported {
    let take = |call: &mut Option<C>, line: &str, imported: &mut Imported| {
        if let Some(next) = begun_by(line) {
            if let Some(before) = call.replace(next) {
                finish(before, imported);
            }
            return true;
        }
        let is_blank_before_all = call.is_none() && line.trim().is_empty();
        is_blank_before_all || take(call.get_or_insert_default(), line)
    };
    let finish_last = |call: Option<C>, imported: &mut Imported| {
        if let Some(call) = call {
            finish(call, imported);
        }
    };
    by_line(input, format, None, take, finish_last)
}
