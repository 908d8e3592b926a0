package main

import (
	"context"
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
// cannot be stored. An error without a field means that kubectl or the decoder rejects the new manifest.
type ChangeResult struct {
	Name    string        `json:"name"`
	Invalid string        `json:"invalid,omitempty"`
	Apply   []ChangeError `json:"apply"`
	Replace []ChangeError `json:"replace"`
	Panic   string        `json:"panic,omitempty"`
}

// ChangeError is the complete text of an error on a field.
type ChangeError struct {
	Field string `json:"field"`
	Error string `json:"error"`
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
	r = &ChangeResult{Name: c.Name, Apply: []ChangeError{}, Replace: []ChangeError{}}
	defer recordPanic(&r.Panic)
	stored, err := storedObject(c.OldObject)
	if err != nil {
		r.Invalid = err.Error()
		return r
	}
	object, err := patched(c, stored)
	if err != nil {
		r.Apply = append(r.Apply, ChangeError{Error: err.Error()})
	} else {
		r.Apply = fieldErrors(update(context.Background(), job.Strategy, object, stored.DeepCopyObject()))
	}
	object, err = decode(c.Object)
	if err != nil {
		r.Replace = append(r.Replace, ChangeError{Error: err.Error()})
		return r
	}
	old, err := decode(c.OldObject)
	if err != nil {
		r.Invalid = err.Error()
		return r
	}
	// Without a generated selector, there are other errors.
	var changes field.ErrorList
	for _, e := range update(context.Background(), job.Strategy, object, old) {
		if e.Detail == "field is immutable" || strings.HasPrefix(e.Detail, "can only be modified in tandem") {
			changes = append(changes, e)
		}
	}
	r.Replace = fieldErrors(changes)
	return r
}

// storedObject returns the stored object of a manifest.
func storedObject(manifest []byte) (runtime.Object, error) {
	object, _, err := strict.Decode(manifest, nil, nil)
	if err != nil {
		return nil, err
	}
	object.(*batch.Job).UID = types.UID("705ab4f5-6393-11e8-b7cc-42010a800002")
	object.(*batch.Job).ResourceVersion = "7"
	return object, create(context.Background(), job.Strategy, object).ToAggregate()
}

// patched returns what kube-apiserver makes of kubectl's patch.
func patched(c *Case, stored runtime.Object) (runtime.Object, error) {
	schema, err := strategicpatch.NewPatchMetaFromStruct(batchv1.Job{})
	if err != nil {
		return nil, err
	}
	current, err := runtime.Encode(legacyscheme.Codecs.LegacyCodec(batchv1.SchemeGroupVersion), stored)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(c.OldObject, c.Object, current, schema, true)
	if err != nil {
		return nil, err
	}
	text, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, patch, schema)
	if err != nil {
		return nil, err
	}
	object, _, err := strict.Decode(text, nil, nil)
	return object, err
}

func fieldErrors(errs field.ErrorList) []ChangeError {
	found := []ChangeError{}
	for _, e := range errs {
		if structs[e.Field] {
			e.BadValue = field.OmitValueType{}
		}
		found = append(found, ChangeError{e.Field, e.Error()})
	}
	return found
}
