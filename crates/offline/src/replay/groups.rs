//! Processes items in parallel, if enabled.

/// Number of documents that a core processes at a time.
const GROUP: usize = 64;

/// Applies a function to each item, in groups on all cores. Results keep their order.
#[cfg(feature = "parallel")]
pub(super) fn in_groups<T: Sync, R: Send>(
    many: &[T],
    each: impl Fn(&T, &mut Vec<R>) + Sync,
) -> Vec<R> {
    use rayon::prelude::*;
    let groups = many.par_chunks(GROUP).map(|group| {
        let mut results = Vec::with_capacity(GROUP);
        for one in group {
            each(one, &mut results);
        }
        results
    });
    groups.collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Applies a function to each item. Results keep their order.
#[cfg(not(feature = "parallel"))]
pub(super) fn in_groups<T, R>(many: &[T], each: impl Fn(&T, &mut Vec<R>)) -> Vec<R> {
    let mut results = Vec::with_capacity(many.len().max(GROUP));
    for one in many {
        each(one, &mut results);
    }
    results
}
