//! Work on few large things by several threads.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

/// What this work gives for each item, in their order. A thread that is done takes the next item.
///
/// # Errors
/// That of one of the items: a thread ends with it, and the others go through what is left.
pub(crate) fn each<I: Send, R: Send, E: Send>(
    threads: usize,
    items: impl Iterator<Item = I> + Send,
    work: impl Fn(I) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if threads < 2 {
        return items.map(work).collect();
    }
    let left = Mutex::new(items.enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = || {
        let mut done = Vec::new();
        while let Some((at, item)) = next() {
            done.push((at, work(item)?));
        }
        Ok(done)
    };
    let mut all = thread::scope(|scope| {
        // Where the system gives no more threads, those that are there do it.
        let start = |_| Builder::new().spawn_scoped(scope, some).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut all = some()?;
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(all)
    })?;
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn results_are_in_order_and_an_error_is_handed_on() {
        for threads in [0, 1, 2, 7] {
            let squares = each(threads, 0..100, |k| Ok::<_, i32>(k * k)).unwrap();
            assert!(squares.into_iter().eq((0..100).map(|k| k * k)), "{threads}");
            let odd = |k| if k % 2 == 0 { Ok(k) } else { Err(k) };
            assert!(each(threads, 0..100, odd).is_err(), "{threads}");
        }
    }
}
