//! Work on many small things by several threads, whose results come in the order of the things.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, Builder, available_parallelism};

/// Threads at most.
const THREADS: usize = 8;
/// Things of which a thread is worth it.
const WORTH_A_THREAD: usize = 32;
/// Results of a thread that wait to be taken at most.
const AHEAD: usize = 4;

/// Does this work for each item, and hands over what comes of it in the order of the items. The first error ends it.
pub(crate) fn in_order<I: Sync, T: Send, E>(
    items: &[I],
    work: impl Fn(&I) -> T + Sync,
    mut take: impl FnMut(&I, T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads_for(items.len());
    if threads < 2 {
        return items.iter().try_for_each(|item| take(item, work(item)));
    }
    thread::scope(|scope| {
        let work = &work;
        let start = |first| {
            let (sender, receiver) = sync_channel(AHEAD);
            let mut own = items.iter().skip(first).step_by(threads);
            // It ends when nothing more is taken of it.
            let all = move || own.try_for_each(|item| sender.send(work(item)));
            let _ = Builder::new().spawn_scoped(scope, all);
            receiver
        };
        let threads: Vec<Receiver<T>> = (0..threads).map(start).collect();
        let mut in_turn = items.iter().zip(threads.iter().cycle());
        in_turn.try_for_each(|(item, thread)| {
            // Where no thread could be started, it is done here.
            let done = thread.recv().unwrap_or_else(|_| work(item));
            take(item, done)
        })
    })
}

fn threads_for(items: usize) -> usize {
    let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
    cpus.min(THREADS).min(items / WORTH_A_THREAD)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, WORTH_A_THREAD, 10 * WORTH_A_THREAD + 1] {
            let items: Vec<usize> = (0..count).collect();
            let mut taken = Vec::new();
            let square = |item: &usize| {
                if item.is_multiple_of(7) {
                    thread::sleep(Duration::from_micros(200));
                }
                item * item
            };
            let all = in_order(&items, square, |item, done| {
                taken.push((*item, done));
                Ok::<(), Infallible>(())
            });
            all.unwrap();
            let expected: Vec<_> = items.iter().map(|item| (*item, item * item)).collect();
            assert_eq!(taken, expected);
        }
    }

    #[test]
    fn the_first_error_ends_it() {
        let items: Vec<usize> = (0..100 * WORTH_A_THREAD).collect();
        let begun = AtomicUsize::new(0);
        let work = |item: &usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            *item
        };
        let ended = in_order(&items, work, |_, done| match done {
            70 => Err(done),
            _ => Ok(()),
        });
        assert_eq!(ended, Err(70));
        assert!(begun.into_inner() < 70 + 2 * THREADS * (AHEAD + 2));
    }
}
