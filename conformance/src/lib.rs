//! Cases that kube-apiserver's own code has judged: the vectors that ordinary tests run, and what makes them.

pub mod cases;
pub mod compare;
pub mod difference;
pub mod generate;
pub mod live;
pub mod oracle;
pub mod trace;
pub mod unset;
pub mod vector;
