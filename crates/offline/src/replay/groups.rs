//! Processes items in parallel, if enabled.

/// Number of documents that a core processes at a time.
const GROUP: usize = 64;

/// Applies a function to each item, in groups on all cores. Results keep their order.
#[cfg(feature = "parallel")]
pub(super) fn in_groups<T: Sync, R: Send>(
    items: &[T],
    each: impl Fn(&T, &mut Vec<R>) + Sync,
) -> Vec<R> {
    use rayon::prelude::*;
    let groups = items.par_chunks(GROUP).map(|group| {
        let mut results = Vec::with_capacity(GROUP);
        for item in group {
            each(item, &mut results);
        }
        results
    });
    groups.collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Applies a function to each item. Results keep their order.
#[cfg(not(feature = "parallel"))]
pub(super) fn in_groups<T, R>(items: &[T], each: impl Fn(&T, &mut Vec<R>)) -> Vec<R> {
    let mut results = Vec::with_capacity(items.len().max(GROUP));
    for item in items {
        each(item, &mut results);
    }
    results
}
