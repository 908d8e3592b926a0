package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/registry/batch/job"
)

// A specField is a field of a struct in the spec of a Job.
type specField struct {
	Struct string `json:"struct"`
	Field  string `json:"field"`
	// Type is a letter (string, bool, int, long, quantity, or number or name), a struct, or *type, [type (list) or {type (map).
	Type string `json:"type"`
	// Key is the field that identifies the elements of a list in a patch, or - for the elements themselves.
	Key string `json:"key,omitempty"`
	// Default is the value that kube-apiserver stores if the field is missing.
	Default json.RawMessage `json:"default,omitempty"`
	// Dropped is set if a feature gate that is off by default drops the field, at least in some structs.
	Dropped bool `json:"dropped,omitempty"`
	kept    bool
}

// unread are structs whose fields are not listed: they are invalid in a template, or have a representation of their own.
var unread = map[string]bool{"EphemeralContainer": true, "ManagedFieldsEntry": true}

var scalars = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():  "quantity",
	reflect.TypeFor[metav1.Time]():        "time",
	reflect.TypeFor[intstr.IntOrString](): "number-or-name",
}

// printFields prints the fields of all structs in the spec of a Job, one JSON object per line.
func printFields(out io.Writer) {
	variants, dropped := storedJobs()
	// In a Job with all structs, but without values, values are defaults. In one without optional structs, structs are.
	blank, bare := &batchv1.Job{}, &batchv1.Job{}
	fill(reflect.ValueOf(blank).Elem(), false, true)
	fill(reflect.ValueOf(bare).Elem(), false, false)
	legacyscheme.Scheme.Default(blank)
	legacyscheme.Scheme.Default(bare)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	rows := map[string]*specField{}
	var order []string
	var visit func(t reflect.Type, variants []variant, blank, bare reflect.Value)
	visit = func(t reflect.Type, variants []variant, blank, bare reflect.Value) {
		name := t.Name()
		eachField(t, func(f reflect.StructField, json string) {
			blank, bare := member(blank, f), member(bare, f)
			variants := mapped(variants, func(value reflect.Value) reflect.Value { return member(value, f) })
			row := &specField{Struct: name, Field: json, Type: typeName(f.Type), Key: f.Tag.Get("patchMergeKey")}
			if row.Key == "" && f.Tag.Get("patchStrategy") == "merge" && f.Type.Kind() == reflect.Slice {
				row.Key = "-"
			}
			if known, ok := rows[name+"."+json]; ok {
				row = known
			} else {
				rows[name+"."+json] = row
				order = append(order, name+"."+json)
			}
			row.Dropped = row.Dropped || name == "Volume" && dropped[json]
			for _, v := range variants {
				row.kept = row.kept || v.stored.IsValid() && !v.stored.IsZero()
				row.Dropped = row.Dropped || v.sent.IsValid() && !v.sent.IsZero() && v.stored.IsValid() && v.stored.IsZero()
			}
			if strings.HasSuffix(strings.ToLower(json), "pullpolicy") {
				row.Default = []byte(`"by-image"`)
			} else if kind := f.Type.Kind(); kind != reflect.Slice && !isStruct(f.Type) {
				row.setDefault(blank)
			} else if kind == reflect.Pointer {
				row.setDefault(bare)
			}
			element := f.Type
			for element.Kind() == reflect.Pointer || element.Kind() == reflect.Slice {
				element, variants, blank, bare = element.Elem(), mapped(variants, inner), inner(blank), inner(bare)
			}
			if isStruct(element) && !unread[element.Name()] {
				visit(element, variants, blank, bare)
			}
		})
	}
	spec := func(job *batchv1.Job) reflect.Value { return reflect.ValueOf(job.Spec) }
	visit(reflect.TypeFor[batchv1.JobSpec](), variants, spec(blank), spec(bare))
	for _, name := range order {
		rows[name].Dropped = rows[name].Dropped || !rows[name].kept
		must(encoder.Encode(rows[name]))
	}
}

// A variant is a value that a client sends, and the stored one.
type variant struct{ sent, stored reflect.Value }

func mapped(variants []variant, get func(reflect.Value) reflect.Value) (all []variant) {
	for _, v := range variants {
		all = append(all, variant{get(v.sent), get(v.stored)})
	}
	return all
}

// storedJobs returns specs with a value in every field, one for each type of volume, and the types of volumes that are dropped.
func storedJobs() (all []variant, dropped map[string]bool) {
	dropped = map[string]bool{}
	eachField(reflect.TypeFor[corev1.VolumeSource](), func(f reflect.StructField, source string) {
		full, internal, stored := &batchv1.Job{}, &batch.Job{}, &batchv1.Job{}
		fill(reflect.ValueOf(full).Elem(), true, true)
		pod := &full.Spec.Template.Spec
		// The only value that older releases keep.
		reflect.ValueOf(&pod.InitContainers[0].RestartPolicy).Elem().Elem().SetString("Always")
		volume := &pod.Volumes[0].VolumeSource
		only := reflect.ValueOf(volume).Elem().FieldByIndex(f.Index).Interface()
		*volume = corev1.VolumeSource{}
		reflect.ValueOf(volume).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(only))
		sent := full.DeepCopy()
		legacyscheme.Scheme.Default(full)
		must(legacyscheme.Scheme.Convert(full, internal, nil))
		job.Strategy.PrepareForCreate(context.Background(), internal)
		must(legacyscheme.Scheme.Convert(internal, stored, nil))
		if len(stored.Spec.Template.Spec.Volumes) == 0 {
			dropped[source] = true
		} else {
			all = append(all, variant{reflect.ValueOf(sent.Spec), reflect.ValueOf(stored.Spec)})
		}
	})
	return all, dropped
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (f *specField) setDefault(value reflect.Value) {
	if !value.IsValid() || value.IsZero() {
		return
	}
	text, err := json.Marshal(value.Interface())
	must(err)
	if f.Default != nil && string(f.Default) != string(text) {
		panic(fmt.Sprintf("%s.%s: %s and %s", f.Struct, f.Field, f.Default, text))
	}
	f.Default = text
}

// eachField calls visit with all fields that are encoded as JSON, and their names.
func eachField(t reflect.Type, visit func(reflect.StructField, string)) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			eachField(f.Type, func(inlined reflect.StructField, name string) {
				inlined.Index = append([]int{i}, inlined.Index...)
				visit(inlined, name)
			})
		} else if name != "" && name != "-" {
			visit(f, name)
		}
	}
}

func member(value reflect.Value, f reflect.StructField) reflect.Value {
	if !value.IsValid() {
		return value
	}
	found, err := value.FieldByIndexErr(f.Index)
	if err != nil {
		return reflect.Value{}
	}
	return found
}

// inner returns what a pointer points to, or the first element of a slice.
func inner(value reflect.Value) reflect.Value {
	switch {
	case !value.IsValid() || value.Kind() == reflect.Slice && value.Len() == 0:
		return reflect.Value{}
	case value.Kind() == reflect.Slice:
		return value.Index(0)
	}
	return value.Elem()
}

func isStruct(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && scalars[t] == ""
}

func typeName(t reflect.Type) string {
	if name, ok := scalars[t]; ok {
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeName(t.Elem())
	case reflect.Slice:
		return "[" + typeName(t.Elem())
	case reflect.Map:
		return "{" + typeName(t.Elem())
	case reflect.Struct:
		if unread[t.Name()] {
			return "?"
		}
		return t.Name()
	}
	return t.Kind().String()
}

// fill sets all structs, and all values if asked to. Without optional structs, it sets only those that are not pointers.
func fill(v reflect.Value, values, pointers bool) {
	switch v.Addr().Interface().(type) {
	case *resource.Quantity:
		if values {
			v.Set(reflect.ValueOf(resource.MustParse("1")))
		}
		return
	case *metav1.Time:
		if values {
			v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(1, 0))))
		}
		return
	case *intstr.IntOrString:
		if values {
			v.Set(reflect.ValueOf(intstr.FromInt32(1)))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), values, pointers)
			}
		}
	case reflect.Pointer:
		if isStruct(v.Type()) && pointers || values {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), values, pointers)
		}
	case reflect.Slice:
		if isStruct(v.Type().Elem()) || values {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), values, pointers)
		}
	case reflect.Map:
		if values {
			element := reflect.New(v.Type().Elem()).Elem()
			fill(element, values, pointers)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("x").Convert(v.Type().Key()), element)
		}
	case reflect.String:
		if values {
			v.SetString("x")
		}
	case reflect.Bool:
		v.SetBool(values)
	case reflect.Int32, reflect.Int64:
		if values {
			v.SetInt(1)
		}
	}
}
