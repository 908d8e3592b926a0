//! Processes items in parallel, if enabled.

/// Number of items that a thread processes at a time.
const CHUNK: usize = 64;

/// Applies a function to each item, in chunks on all cores. Results keep their order.
#[cfg(feature = "parallel")]
pub(super) fn par_flat_map<T: Sync, R: Send>(
    items: &[T],
    each: impl Fn(&T, &mut Vec<R>) + Sync,
) -> Vec<R> {
    use rayon::prelude::*;
    let chunks = items.par_chunks(CHUNK).map(|chunk| {
        let mut results = Vec::with_capacity(CHUNK);
        for item in chunk {
            each(item, &mut results);
        }
        results
    });
    chunks.collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Applies a function to each item. Results keep their order.
#[cfg(not(feature = "parallel"))]
pub(super) fn par_flat_map<T, R>(items: &[T], each: impl Fn(&T, &mut Vec<R>)) -> Vec<R> {
    let mut results = Vec::with_capacity(items.len().max(CHUNK));
    for item in items {
        each(item, &mut results);
    }
    results
}
