//! What a thread that has ended gives.

/// What the thread gave; where it panicked, this one does.
pub fn joined<T>(ended: std::thread::Result<T>) -> T {
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
