// Package managedby validates Jobs and their status in unit tests, like kube-apiserver.
//
// kube-apiserver validates the status that a controller writes to a Job. Its validation differs between releases and is internal to
// k8s.io/kubernetes. This package runs managed-by-policy as a WebAssembly module, without cgo. Its verdicts and messages are
// identical to those of kube-apiserver 1.30 to 1.37, except for a few known differences (docs/explanation/how-it-works.md).
//
//	policy, err := managedby.New(ctx)
//	findings, err := policy.CheckStatusUpdate(ctx, old, new)
//	if err := findings.Err(); err != nil {
//		// Kubernetes 1.30 to 1.37: Job.batch "pi" is invalid: status.ready: ...
//	}
//
// [Policy.CheckStatusUpdate], [Policy.CheckUpdate], [Policy.CheckCreate] and [Policy.Check] evaluate several releases at once and
// return structured findings. [Policy.Review] returns the verdict of the policy in a cluster with its settings.
//
// For test helpers, see package managedbytest. For controller-runtime clients, see module managedbyclient.
//
// # Cost
//
// The first [New] in a process compiles the module, which takes a few tenths of a second. Module instances are pooled. At most
// GOMAXPROCS instances run at the same time; further calls block. All functions and methods are safe for concurrent use. A call
// returns when its context is done.
package managedby
