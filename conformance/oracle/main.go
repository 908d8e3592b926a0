// Oracle answers what kube-apiserver says to a change of a Job or CronJob, by running the registry strategies of
// k8s.io/kubernetes themselves. It reads cases from standard input, one JSON object a line, and writes one answer a
// line, in the same order. Which release answers is decided by the module file it was built with
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

// Case is one question: the change that a client asks for.
type Case struct {
	Name        string          `json:"name"`
	Operation   string          `json:"operation"`
	SubResource string          `json:"subResource,omitempty"`
	Object      json.RawMessage `json:"object"`
	OldObject   json.RawMessage `json:"oldObject,omitempty"`
}

// FieldError is one error of upstream's list, whole (Error) and in its parts.
type FieldError struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
	Error  string `json:"error"`
}

// Answer holds the errors on the fields that this project judges, and the message that a client would read if there
// were no others. Unreadable says why the API server could not decode an object, Panic what its own code died of.
type Answer struct {
	Name       string       `json:"name"`
	Errors     []FieldError `json:"errors"`
	Message    string       `json:"message,omitempty"`
	Others     []string     `json:"others,omitempty"`
	Unreadable string       `json:"unreadable,omitempty"`
	Panic      string       `json:"panic,omitempty"`
}

func main() {
	enableJobManagedBy()
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
			fmt.Fprintln(os.Stderr, "oracle: not a case:", err)
			os.Exit(2)
		}
		if err := encoder.Encode(answer(&c)); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(1)
		}
		// A caller that asks case by case waits for each answer.
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

// enableJobManagedBy switches the gate on where it is off by default (1.30, 1.31); where it is locked, it is on.
func enableJobManagedBy() {
	if !utilfeature.DefaultFeatureGate.Enabled("JobManagedBy") {
		if err := utilfeature.DefaultMutableFeatureGate.Set("JobManagedBy=true"); err != nil {
			fmt.Fprintln(os.Stderr, "oracle: JobManagedBy:", err)
			os.Exit(1)
		}
	}
}

func answer(c *Case) (a *Answer) {
	a = &Answer{Name: c.Name, Errors: []FieldError{}}
	defer recovered(&a.Panic)
	object, err := decode(c.Object)
	if err != nil {
		a.Unreadable = err.Error()
		return a
	}
	var old runtime.Object
	if c.Operation == "UPDATE" {
		if old, err = decode(c.OldObject); err != nil {
			a.Unreadable = err.Error()
			return a
		}
	}
	kind, name, errs := validate(c, object, old)
	a.say(kind, name, errs)
	return a
}

// recovered writes down what upstream's code died of.
func recovered(panicked *string) {
	if r := recover(); r != nil {
		*panicked = fmt.Sprint(r)
	}
}

// say fills the answer with what upstream found.
func (a *Answer) say(kind, name string, errs field.ErrorList) {
	mine := field.ErrorList{}
	seen := map[string]bool{}
	for _, e := range errs {
		if seen[e.Error()] {
			continue
		}
		seen[e.Error()] = true
		if !judged(e) {
			a.Others = append(a.Others, e.Error())
			continue
		}
		if templates[e.Field] {
			// A whole template, up to 1.33 with the addresses of what it points to.
			e = field.Invalid(field.NewPath(e.Field), field.OmitValueType{}, e.Detail)
		}
		mine = append(mine, e)
		a.Errors = append(a.Errors, FieldError{string(e.Type), e.Field, e.Detail, e.Error()})
	}
	if len(mine) > 0 {
		a.Message = apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: kind}, name, mine).Error()
	}
}

// templates are the paths at which upstream says that a template may not change.
var templates = map[string]bool{"spec.template": true, "spec.template.spec": true}

// judged tells the errors that this project finds too from those that are upstream's business alone.
func judged(e *field.Error) bool {
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
