package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzText compares the policy with kube-apiserver on an update as bytes: the JSON of the stored and the new object. Each edit of three
// bytes replaces a token.
func FuzzText(f *testing.F) {
	for _, c := range append(vectors(f, "job-status.ndjson"), vectors(f, "managed-by-field.ndjson")...) {
		if c.OldObject != nil && bytes.Contains(c.Object, []byte(`"kind":"Job"`)) {
			f.Add(c.SubResource == "status", onlyReadFields(c.OldObject, ""), onlyReadFields(c.Object, ""), []byte{})
		}
	}
	f.Fuzz(func(t *testing.T, ofStatus bool, old, object, edits []byte) {
		if len(old)+len(object) > 1<<14 || len(edits) > 24 {
			return
		}
		c := &Case{Operation: "UPDATE", OldObject: asJob(old), Object: asJob(edit(object, edits))}
		if ofStatus {
			c.SubResource = "status"
		}
		payload := []byte(envelope(c))
		if !json.Valid(payload) || !utf8.Valid(payload) {
			if result := review(t, string(payload)); result.Code != 400 {
				t.Errorf("%q\nis not JSON; the policy: %+v", payload, result)
			}
			return
		}
		// Skip text that is not a single object. Skip text that PolicyServer never sends, because it serializes requests again: duplicate
		// members, which the API server merges, and unpaired surrogates. Skip -0.0, which the policy reads as 0, because PolicyServer
		// sends it for -0. Skip templates, whose types the policy does not check.
		if skippedText.Match(payload) || !json.Valid(c.Object) || !json.Valid(c.OldObject) || hasDuplicateMembers(c.Object) || hasDuplicateMembers(c.OldObject) || bytes.Contains(payload, []byte("template")) {
			return
		}
		compare(t, c)
	})
}

// skippedText matches escaped surrogates, because PolicyServer escapes only control characters; numbers that begin with -0. or -0e;
// and years that kube-apiserver writes but does not parse.
var skippedText = regexp.MustCompile(`(?i)\\ud[89a-f]|-0[.e]|"(-|\d)\d{4,}-`)

// withoutUnreadFields returns a case without the fields that no rule reads. kube-apiserver rejects wrong types in these fields, but the policy does not.
func withoutUnreadFields(c *Case) *Case {
	return &Case{Operation: c.Operation, SubResource: c.SubResource, Object: onlyReadFields(c.Object, ""), OldObject: onlyReadFields(c.OldObject, "")}
}

// read contains the paths that rules read, and their parents.
var read = func() map[string]bool {
	read := map[string]bool{}
	paths := []string{
		".apiVersion", ".kind", ".metadata.name", ".metadata.namespace", ".metadata.uid", ".metadata.resourceVersion",
		".status.conditions[].type", ".status.conditions[].status",
	}
	for _, f := range fields {
		if !strings.HasPrefix(f.path, "spec.template") {
			paths = append(paths, "."+f.path)
		}
	}
	for _, path := range paths {
		for ; path != ""; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
			read[path] = true
		}
	}
	return read
}()

// onlyReadFields returns a value without the members that no rule reads.
func onlyReadFields(text []byte, path string) []byte {
	var members map[string]json.RawMessage
	var elements []json.RawMessage
	if json.Unmarshal(text, &members) == nil && members != nil {
		for name, value := range members {
			if read[path+"."+name] {
				members[name] = onlyReadFields(value, path+"."+name)
			} else {
				delete(members, name)
			}
		}
		return marshal(members)
	}
	if read[path+"[]"] && json.Unmarshal(text, &elements) == nil && elements != nil {
		for i, value := range elements {
			elements[i] = onlyReadFields(value, path+"[]")
		}
		return marshal(elements)
	}
	return text
}

// tokens matches JSON tokens, and any other character.
var tokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+.\w]+|[^"]`)

// pieces are the tokens that edits insert.
var pieces = []string{
	"null", "1.0", "1e2", "-0", "01", "2147483647", "2147483648", "-2147483649", "9223372036854775808", "1E400", `"1"`, "true", "false", "[]", "{}",
	`""`, `"\u0000"`, `"😀"`, `"é"`, `"2026-01-01T00:00:00Z"`, `"2026-13-01T00:00:00Z"`, `"True"`, `"Complete"`, `"Indexed"`,
	`"status"`, `"Status"`, `"startTime"`, `"starttime"`, `"conditions"`, `"type"`, `"managedBy"`, `"acme.io/a"`, `{"a":{"b":[null,1,"c"]}}`, `[null]`, `[[]]`,
	"", ",", ":", "{", "}", "[", "]", " ", "\t\n\r", "\u00a0", "\ufeff", "NaN", `\`, `"`,
	`"uncountedTerminatedPods":{"succeeded":[null],"failed":null}`, `"conditions":[null,{"type":"Failed","status":null}]`,
}

func edit(text, edits []byte) []byte {
	all := tokens.FindAll(text, -1)
	if len(all) == 0 {
		return text
	}
	for ; len(edits) > 2; edits = edits[3:] {
		index := (int(edits[0])<<8 | int(edits[1])) % len(all)
		all[index] = []byte(pieces[int(edits[2])%len(pieces)])
	}
	return bytes.Join(all, nil)
}

// identity is the start of each Job. The API server takes these fields from the request's path and from the stored object.
const identity = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"pi","namespace":"default","uid":"1","resourceVersion":"7"},`

// asJob returns a Job with this identity and the spec and status of an object. It returns text that is not an object, or has
// duplicate members, unchanged.
func asJob(text []byte) []byte {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || hasDuplicateMembers(text) {
		return text
	}
	object := []byte(identity)
	for _, name := range []string{"spec", "status"} {
		if value, ok := members[name]; ok {
			object = append(append(append(object, '"'), name+`":`...), value...)
			object = append(object, ',')
		}
	}
	return append(bytes.TrimSuffix(object, []byte(",")), '}')
}

// hasDuplicateMembers reports whether an object in a document has duplicate members.
func hasDuplicateMembers(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var twice func() bool
	twice = func() bool {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		seen := map[any]bool{}
		for token == json.Delim('{') && decoder.More() {
			name, err := decoder.Token()
			if err != nil || seen[name] || twice() {
				return err == nil
			}
			seen[name] = true
		}
		for token == json.Delim('[') && decoder.More() {
			if twice() {
				return true
			}
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			_, err = decoder.Token()
		}
		return false
	}
	return twice()
}
