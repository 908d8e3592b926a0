//go:build !v1_30 && !v1_31

package conditions

import (
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// compiler returns the compiler that kube-apiserver uses for webhooks.
func compiler() cel.ConditionCompiler {
	return cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
}
