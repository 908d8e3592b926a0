package main

import (
	"context"
	"encoding/json"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/registry/batch/job"
)

// ChangeResult contains all errors on a change from one manifest of a Job to another one. Invalid is the reason why the old manifest
// cannot be stored. An error without a field means that kubectl or the decoder rejects the new manifest. FirstApply are the errors if
// kubectl did not apply the old manifest.
type ChangeResult struct {
	Name       string          `json:"name"`
	Invalid    string          `json:"invalid,omitempty"`
	Stored     json.RawMessage `json:"stored,omitempty"`
	Apply      []FieldError    `json:"apply"`
	FirstApply []FieldError    `json:"firstApply"`
	Replace    []FieldError    `json:"replace"`
	Panic      string          `json:"panic,omitempty"`
}

// strict rejects unknown fields, like kube-apiserver's default for requests of kubectl.
var strict = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDecoder()

// structs are the paths of errors whose value is a struct, which differs between releases or has pointer addresses.
var structs = map[string]bool{
	"spec.template": true, "spec.template.spec": true, "spec.selector": true, "spec.podFailurePolicy": true, "spec.successPolicy": true,
}

// changeResult stores the old manifest, applies the new one as kubectl does, and also replaces the old manifest by the new one without
// what kube-apiserver generates.
func changeResult(c *Case) (r *ChangeResult) {
	r = &ChangeResult{Name: c.Name, Apply: []FieldError{}, FirstApply: []FieldError{}, Replace: []FieldError{}}
	defer recordPanic(&r.Panic)
	stored, err := storedObject(c.OldObject)
	if err != nil {
		r.Invalid = err.Error()
		return r
	}
	r.Stored, err = runtime.Encode(legacyscheme.Codecs.LegacyCodec(batchv1.SchemeGroupVersion), stored)
	if err != nil {
		r.Invalid = err.Error()
		return r
	}
	apply := func(applied []byte) []FieldError {
		object, err := patched(applied, c.Object, r.Stored)
		if err != nil {
			return []FieldError{{Error: err.Error()}}
		}
		return fieldErrors(update(context.Background(), job.Strategy, object, stored.DeepCopyObject()))
	}
	r.Apply, r.FirstApply = apply(c.OldObject), apply(nil)
	object, err := decode(c.Object)
	if err != nil {
		r.Replace = append(r.Replace, FieldError{Error: err.Error()})
		return r
	}
	old, err := decode(c.OldObject)
	if err != nil {
		r.Invalid = err.Error()
		return r
	}
	// The stored object lacks the fields of disabled features. Without a generated selector, there are other errors.
	spec := stored.(*batch.Job).Spec
	spec.Selector, spec.Template.Labels = old.(*batch.Job).Spec.Selector, old.(*batch.Job).Spec.Template.Labels
	old.(*batch.Job).Spec = spec
	var changes field.ErrorList
	for _, e := range update(context.Background(), job.Strategy, object, old) {
		if e.Detail == "field is immutable" || strings.HasPrefix(e.Detail, "can only be modified in tandem") {
			changes = append(changes, e)
		}
	}
	r.Replace = fieldErrors(changes)
	return r
}

// storedObject returns the stored object of a manifest, with the status that the manifest shows.
func storedObject(manifest []byte) (runtime.Object, error) {
	object, _, err := strict.Decode(manifest, nil, nil)
	if err != nil {
		return nil, err
	}
	stored := object.(*batch.Job)
	stored.UID = types.UID("705ab4f5-6393-11e8-b7cc-42010a800002")
	stored.ResourceVersion = "7"
	status := stored.Status
	err = create(context.Background(), job.Strategy, stored).ToAggregate()
	stored.Status = status
	return stored, err
}

// patched returns what kube-apiserver makes of kubectl's patch of the stored object.
func patched(applied, manifest, stored []byte) (runtime.Object, error) {
	schema, err := strategicpatch.NewPatchMetaFromStruct(batchv1.Job{})
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(applied, manifest, stored, schema, true)
	if err != nil {
		return nil, err
	}
	text, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(stored, patch, schema)
	if err != nil {
		return nil, err
	}
	object, _, err := strict.Decode(text, nil, nil)
	return object, err
}

func fieldErrors(errs field.ErrorList) []FieldError {
	found := []FieldError{}
	for _, e := range errs {
		if structs[e.Field] {
			e.BadValue = field.OmitValueType{}
		}
		found = append(found, FieldError{e.Field, e.Error()})
	}
	return found
}
