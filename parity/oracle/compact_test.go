package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// The compact form of a request is one byte for the operation, followed by steps of two bytes. The first byte of a step selects a field
// and the object (the old Job, the new one, or both), and the second selects the new value or the value to append. So every input is a
// valid request, and the fuzzer's mutations make small changes.

// operations are selected by the first byte. Most of them write a status.
var operations = [][2]string{{"UPDATE", "status"}, {"UPDATE", "status"}, {"UPDATE", ""}, {"UPDATE", "status"}, {"CREATE", ""}}

const (
	both = iota
	oldOnly
	newOnly
	sideCount
)

// step returns the new value of a field.
type step func(now any, value byte) any

// fields are all fields of a Job that rules read, except for most of the template. The committed corpus depends on their order.
var fields = []struct {
	path string
	step
}{
	{"status.active", number},
	{"status.succeeded", number},
	{"status.failed", number},
	{"status.ready", number},
	{"status.terminating", number},
	{"status.startTime", oneOf(times...)},
	{"status.completionTime", oneOf(times...)},
	{"status.completedIndexes", character},
	{"status.failedIndexes", character},
	{"status.uncountedTerminatedPods.succeeded", uid},
	{"status.uncountedTerminatedPods.failed", uid},
	{"status.conditions", condition},
	{"spec.completions", number},
	{"spec.parallelism", number},
	{"spec.completionMode", oneOf(nil, "Indexed", "NonIndexed")},
	{"spec.backoffLimitPerIndex", number},
	{"spec.successPolicy", oneOf(nil, map[string]any{"rules": []any{map[string]any{"succeededCount": 1}}})},
	{"spec.suspend", oneOf(nil, true, false)},
	{"spec.managedBy", character},
	{"spec.template.spec.nodeSelector", oneOf(nil, map[string]any{"pool": "a"}, map[string]any{"pool": "b"}, map[string]any{})},
	{"spec.template.metadata.annotations", oneOf(nil, map[string]any{"a": ""}, map[string]any{})},
}

// times are close instants, other spellings of the same instants, and invalid times.
var times = []any{
	nil, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:01:00Z", "2025-12-31T23:59:59Z",
	"2026-01-01T01:00:00+01:00", "2025-12-31T23:01:00-01:00", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.000Z",
	"2026-01-01T00:01:00.000000001Z", "2026-01-01T00:01:00.0000000001Z", "2026-01-01T00:00:00,5Z", "2024-02-29T12:34:56.789+14:00",
	"2026-02-29T00:00:00Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "0000-01-01T00:00:00Z", "0000-12-31T23:59:59-23:59",
	"9999-12-31T23:59:59Z", "9999-12-31T23:59:59-00:01", "-001-01-01T00:00:00Z", "1969-12-31T23:59:59.999999999Z",
	"2016-12-31T23:59:60Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+23:60", "2026-01-01t00:00:00z",
	"2026-01-01 00:00:00Z", "2026-01-01T00:00:00-00:00", "2026-1-01T00:00:00Z", "2026-01-01T0:00:00Z", "2026-01-01T00:00:00", "",
}

var (
	// odd are characters that Go escapes, or that are longer than a byte.
	odd        = []rune("é<&>\u2028\u007f\u0000\n\ufeff\U000e0001😀\ufffd٣")
	uids       = []string{"a", "b", "c", "d", "", "<é>", "\"\\\n\u007f\u2028"}
	conditions = []string{"Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended", "Acme", ""}
	states     = []string{"True", "False", "Unknown", "true", ""}
)

// number returns small numbers, numbers at the limits of 32 bits, and nil.
func number(_ any, value byte) any {
	switch value {
	case 255:
		return nil
	case 254:
		return 1<<31 - 1
	case 253:
		return -1 << 31
	}
	return int(value) - 8
}

func oneOf(values ...any) step {
	return func(_ any, value byte) any { return values[int(value)%len(values)] }
}

func character(now any, value byte) any {
	text, _ := now.(string)
	if value < 0x80 {
		return text + string(rune(value))
	}
	return text + string(odd[int(value)%len(odd)])
}

func uid(now any, value byte) any {
	list, _ := now.([]any)
	if value == 255 {
		return append([]any{}, list...)
	}
	return append(list[:len(list):len(list)], uids[int(value)%len(uids)])
}

func condition(now any, value byte) any {
	list, _ := now.([]any)
	entry := map[string]any{"type": conditions[int(value)%len(conditions)], "status": states[int(value)/len(conditions)%len(states)]}
	return append(list[:len(list):len(list)], entry)
}

// requestOf expands the compact form of a request.
func requestOf(input []byte) *Case {
	old, object := blank(), blank()
	c := &Case{}
	if len(input) > 0 {
		operation := operations[int(input[0])%len(operations)]
		c.Operation, c.SubResource = operation[0], operation[1]
		input = input[1:]
	} else {
		c.Operation, c.SubResource = operations[0][0], operations[0][1]
	}
	for ; len(input) > 1; input = input[2:] {
		f := fields[int(input[0])/sideCount%len(fields)]
		switch input[0] % sideCount {
		case both:
			applyStep(old, f.path, f.step, input[1])
			applyStep(object, f.path, f.step, input[1])
		case oldOnly:
			applyStep(old, f.path, f.step, input[1])
		case newOnly:
			applyStep(object, f.path, f.step, input[1])
		}
	}
	// kube-apiserver drops the status of a create.
	if c.Operation == "CREATE" {
		delete(object, "status")
	} else {
		c.OldObject = marshal(old)
	}
	c.Object = marshal(object)
	return c
}

// blank returns a Job that kube-apiserver accepts.
func blank() map[string]any {
	return map[string]any{
		"apiVersion": "batch/v1",
		"kind":       "Job",
		"metadata":   map[string]any{"name": "pi", "namespace": "default", "uid": "1", "resourceVersion": "7"},
		"spec": map[string]any{
			"manualSelector": true,
			"selector":       map[string]any{"matchLabels": map[string]any{"app": "pi"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "pi"}},
				"spec": map[string]any{
					"containers":    []any{map[string]any{"name": "pi", "image": "perl"}},
					"restartPolicy": "Never",
				},
			},
		},
		"status": map[string]any{},
	}
}

// applyStep applies a step to a field of an object.
func applyStep(object map[string]any, path string, step step, value byte) {
	names := strings.Split(path, ".")
	last := names[len(names)-1]
	for _, name := range names[:len(names)-1] {
		inner, ok := object[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	object[last] = step(object[last], value)
}

func marshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// compact returns the compact form of a case. It omits values that have no compact form.
func compact(t testing.TB, c *Case) []byte {
	t.Helper()
	input := []byte{0}
	for i, operation := range operations {
		if operation == [2]string{c.Operation, c.SubResource} {
			input[0] = byte(i)
		}
	}
	read := func(raw []byte) (object map[string]any) {
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &object); err != nil {
				t.Fatal(err)
			}
		}
		return object
	}
	old, object := read(c.OldObject), read(c.Object)
	for i, f := range fields {
		first, then := steps(f.step, at(old, f.path)), steps(f.step, at(object, f.path))
		if string(first) == string(then) {
			input = appendSteps(input, byte(i*sideCount+both), first)
			continue
		}
		input = appendSteps(input, byte(i*sideCount+oldOnly), first)
		input = appendSteps(input, byte(i*sideCount+newOnly), then)
	}
	return input
}

func appendSteps(input []byte, name byte, values []byte) []byte {
	for _, value := range values {
		input = append(input, name, value)
	}
	return input
}

func at(object map[string]any, path string) any {
	var value any = object
	for _, name := range strings.Split(path, ".") {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	return value
}

// steps returns the second bytes of steps that produce a field's value, or a prefix of that value.
func steps(step step, wanted any) (values []byte) {
	var now any
	for string(marshal(now)) != string(marshal(wanted)) {
		found := false
		for value := range 256 {
			if next := step(now, byte(value)); nearer(now, next, wanted) {
				now, found = next, true
				values = append(values, byte(value))
				break
			}
		}
		if !found {
			break
		}
	}
	return values
}

// nearer reports whether a step changes a value to the wanted value, or to a longer prefix of the wanted value.
func nearer(now, next, wanted any) bool {
	is, end := string(marshal(next)), string(marshal(wanted))
	if is == end {
		return true
	}
	switch next := next.(type) {
	case string:
		was, _ := now.(string)
		wanted, _ := wanted.(string)
		return len(next) > len(was) && strings.HasPrefix(wanted, next)
	case []any:
		was, _ := now.([]any)
		return len(next) > len(was) && strings.HasPrefix(end, is[:len(is)-1]+",")
	}
	return false
}
