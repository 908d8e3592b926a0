// Oracle validates changes of a Job or CronJob with the registry strategies of k8s.io/kubernetes. It reads cases from standard input,
// one JSON object per line, and writes one result per line, in the same order. The module file selects the release
// (go build -modfile=v1.37.mod).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
)

// Case is a request to validate.
type Case struct {
	Name        string          `json:"name"`
	Operation   string          `json:"operation"`
	SubResource string          `json:"subResource,omitempty"`
	Object      json.RawMessage `json:"object"`
	OldObject   json.RawMessage `json:"oldObject,omitempty"`
}

// FieldError is the complete text of an error on a field.
type FieldError struct {
	Field string `json:"field"`
	Error string `json:"error"`
}

// ValidationResult contains the errors on the fields that this project validates, and the message for the client if there are no others.
// Malformed is the decoding error of an object, and Panic the panic of upstream's code.
type ValidationResult struct {
	Name      string       `json:"name"`
	Errors    []FieldError `json:"errors"`
	Message   string       `json:"message,omitempty"`
	Others    []string     `json:"others,omitempty"`
	Malformed string       `json:"malformed,omitempty"`
	Panic     string       `json:"panic,omitempty"`
}

func main() {
	enableJobManagedBy()
	if len(os.Args) > 1 {
		printFields(os.Stdout)
		return
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	decoder := json.NewDecoder(in)
	for {
		var c Case
		if err := decoder.Decode(&c); err == io.EOF {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "oracle: cannot decode case:", err)
			os.Exit(2)
		}
		var result any
		if c.Operation == "APPLY" {
			result = changeResult(&c)
		} else {
			result = upstreamResult(&c)
		}
		if err := encoder.Encode(result); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(1)
		}
		// Callers may wait for each result before they send the next case.
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

// enableJobManagedBy enables the feature gate, which is disabled by default in 1.30 and 1.31. In releases that lock the gate, it is enabled, and 1.38
// has no such gate.
func enableJobManagedBy() {
	if _, exists := utilfeature.DefaultMutableFeatureGate.GetAll()["JobManagedBy"]; !exists {
		return
	}
	if !utilfeature.DefaultFeatureGate.Enabled("JobManagedBy") {
		if err := utilfeature.DefaultMutableFeatureGate.Set("JobManagedBy=true"); err != nil {
			fmt.Fprintln(os.Stderr, "oracle: JobManagedBy:", err)
			os.Exit(1)
		}
	}
}

func upstreamResult(c *Case) (a *ValidationResult) {
	a = &ValidationResult{Name: c.Name, Errors: []FieldError{}}
	defer recordPanic(&a.Panic)
	object, err := decode(c.Object)
	if err != nil {
		a.Malformed = err.Error()
		return a
	}
	var old runtime.Object
	if c.Operation == "UPDATE" {
		if old, err = decode(c.OldObject); err != nil {
			a.Malformed = err.Error()
			return a
		}
	}
	kind, name, errs := validate(c, object, old)
	a.setErrors(kind, name, errs)
	return a
}

// recordPanic records a panic of upstream's code.
func recordPanic(panicked *string) {
	if r := recover(); r != nil {
		*panicked = fmt.Sprint(r)
	}
}

// setErrors fills the result with upstream's errors.
func (a *ValidationResult) setErrors(kind, name string, errs field.ErrorList) {
	mine := field.ErrorList{}
	seen := map[string]bool{}
	for _, e := range errs {
		if seen[e.Error()] {
			continue
		}
		seen[e.Error()] = true
		if !evaluated(e) {
			a.Others = append(a.Others, e.Error())
			continue
		}
		if templates[e.Field] {
			// Omit the template: up to 1.33, kube-apiserver prints it with pointer addresses.
			e = field.Invalid(field.NewPath(e.Field), field.OmitValueType{}, e.Detail)
		}
		mine = append(mine, e)
		a.Errors = append(a.Errors, FieldError{e.Field, e.Error()})
	}
	if len(mine) > 0 {
		a.Message = apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: kind}, name, mine).Error()
	}
}

// templates are the paths of upstream's errors about changed templates.
var templates = map[string]bool{"spec.template": true, "spec.template.spec": true}

// evaluated reports whether an error is on a field that this project validates. For templates, this is only the error about
// immutability.
func evaluated(e *field.Error) bool {
	path := e.Field
	return templates[path] && e.Type == field.ErrorTypeInvalid && e.Detail == "field is immutable" ||
		path == "spec.managedBy" || path == "spec.jobTemplate.spec.managedBy" ||
		path == "status" || strings.HasPrefix(path, "status.")
}

func decode(raw json.RawMessage) (runtime.Object, error) {
	object, _, err := legacyscheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
	return object, err
}

func validate(c *Case, object, old runtime.Object) (kind, name string, errs field.ErrorList) {
	ctx := genericapirequest.WithRequestInfo(genericapirequest.NewDefaultContext(), &genericapirequest.RequestInfo{
		APIGroup:    "batch",
		APIVersion:  "v1",
		Subresource: c.SubResource,
	})
	switch o := object.(type) {
	case *batch.Job:
		if c.SubResource == "status" {
			return "Job", o.Name, update(ctx, job.StatusStrategy, object, old)
		}
		if old == nil {
			return "Job", o.Name, create(ctx, job.Strategy, object)
		}
		return "Job", o.Name, update(ctx, job.Strategy, object, old)
	case *batch.CronJob:
		if old == nil {
			return "CronJob", o.Name, create(ctx, cronjob.Strategy, object)
		}
		return "CronJob", o.Name, update(ctx, cronjob.Strategy, object, old)
	}
	panic(fmt.Sprintf("no strategy for %T", object))
}

func create(ctx context.Context, strategy rest.RESTCreateStrategy, object runtime.Object) field.ErrorList {
	strategy.PrepareForCreate(ctx, object)
	return strategy.Validate(ctx, object)
}

func update(ctx context.Context, strategy rest.RESTUpdateStrategy, object, old runtime.Object) field.ErrorList {
	strategy.PrepareForUpdate(ctx, object, old)
	return strategy.ValidateUpdate(ctx, object, old)
}
