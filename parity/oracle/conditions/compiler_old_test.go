//go:build v1_30 || v1_31

package conditions

import (
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// compiler returns the compiler that kube-apiserver 1.30 and 1.31 use for webhooks.
func compiler() cel.FilterCompiler {
	return cel.NewFilterCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), false))
}
