//! Many things at once.

/// So many documents are read, or judged, by one core before it takes others.
const GROUP: usize = 64;

/// Does something with each of many, in groups, on all cores where the feature `parallel` says so. The order is kept.
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

/// Does something with each of many. The order is kept.
#[cfg(not(feature = "parallel"))]
pub(super) fn in_groups<T, R>(many: &[T], each: impl Fn(&T, &mut Vec<R>)) -> Vec<R> {
    let mut results = Vec::with_capacity(many.len().max(GROUP));
    for one in many {
        each(one, &mut results);
    }
    results
}
