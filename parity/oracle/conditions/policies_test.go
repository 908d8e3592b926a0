package conditions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	_ "unsafe" // for go:linkname

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// compilePolicy is kube-apiserver's function that compiles a ValidatingAdmissionPolicy.
//
//go:linkname compilePolicy k8s.io/apiserver/pkg/admission/plugin/policy/validating.compilePolicy
func compilePolicy(policy *registrationv1.ValidatingAdmissionPolicy) validating.Validator

// budget is a tenth of kube-apiserver's cost limit for all expressions of a policy, and equals its limit for a single expression.
const budget = 1_000_000

// expectedResult is a line of the file EXPECTED_RESULTS, which `xtask expected` writes.
type expectedResult struct {
	Name     string          `json:"name"`
	Request  string          `json:"request"`
	Settings json.RawMessage `json:"settings"`
	Response struct {
		Code        int               `json:"code"`
		Message     string            `json:"message"`
		Annotations map[string]string `json:"audit_annotations"`
	} `json:"response"`
}

// policy is a compiled ValidatingAdmissionPolicy.
type policy struct {
	*registrationv1.ValidatingAdmissionPolicy
	validating.Validator
	// The policy without matchConditions, for kinds in custom_kinds, because the chart renders conditions only for the kinds in its values.
	unconditional validating.Validator
}

func compiled(found *registrationv1.ValidatingAdmissionPolicy) policy {
	unconditional := found.DeepCopy()
	unconditional.Spec.MatchConditions = nil
	return policy{found, compilePolicy(found), compilePolicy(unconditional)}
}

// renderedPolicies returns the ValidatingAdmissionPolicies that the chart renders, by the end of their names: one that denies and one that warns.
func renderedPolicies(t testing.TB) map[string]*registrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	file, err := os.Open(filepath.Join(rendered, "cel.yml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	policies := map[string]*registrationv1.ValidatingAdmissionPolicy{}
	decoder := utilyaml.NewYAMLOrJSONDecoder(file, 1<<20)
	for {
		found := &registrationv1.ValidatingAdmissionPolicy{}
		if err := decoder.Decode(found); err == io.EOF {
			return policies
		} else if err != nil {
			t.Fatal(err)
		}
		if found.Kind == "ValidatingAdmissionPolicy" {
			policies[found.Name[strings.LastIndex(found.Name, "-")+1:]] = found
		}
	}
}

// settingsOf returns the variable of a policy that contains the settings.
func settingsOf(t testing.TB, policy *registrationv1.ValidatingAdmissionPolicy) *registrationv1.Variable {
	t.Helper()
	variable := &policy.Spec.Variables[0]
	if variable.Name != "settings" {
		t.Fatalf("%s: the first variable is %q", policy.Name, variable.Name)
	}
	return variable
}

// literal returns a JSON value as the CEL literal that the chart renders.
func literal(value any) string {
	typed := func(value any) string { return "dyn(" + literal(value) + ")" }
	var items []string
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			items = append(items, literal(key)+": "+typed(value[key]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	case []any:
		for _, item := range value {
			if _, ok := item.(string); ok {
				items = append(items, literal(item))
			} else {
				items = append(items, typed(item))
			}
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	scalar, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(scalar)
}

// TestLiteral checks that the chart embeds the settings of the management cluster as literal returns them.
func TestLiteral(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(rendered, "management.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var policy struct{ Spec struct{ Settings any } }
	if err := utilyaml.Unmarshal(file, &policy); err != nil {
		t.Fatal(err)
	}
	for _, rendered := range renderedPolicies(t) {
		if got, want := settingsOf(t, rendered).Expression, literal(policy.Spec.Settings); got != want {
			t.Errorf("%s: %s, want %s", rendered.Name, got, want)
		}
	}
}

// policies returns the compiled policies with the given settings, or with a parameter for the settings, because compiling takes longer than evaluating.
func policies(t testing.TB, settings json.RawMessage) (denies, warns policy) {
	t.Helper()
	all := renderedPolicies(t)
	for _, policy := range all {
		variable := settingsOf(t, policy)
		if settings == nil {
			policy.Spec.ParamKind = &registrationv1.ParamKind{}
			variable.Expression = "dyn(dyn(params).settings)"
		} else {
			variable.Expression = literal(parsed(t, settings))
		}
	}
	return compiled(all["deny"]), compiled(all["warn"])
}

func parsed(t testing.TB, settings json.RawMessage) (value any) {
	t.Helper()
	if err := utiljson.Unmarshal(settings, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// covered returns the rules that the policies enforce, from the chart's copy of the library's rules.
var covered = sync.OnceValue(func() map[string]bool {
	file, err := os.ReadFile("../../../charts/managed-by-policy/files/library.yaml")
	if err != nil {
		panic(err)
	}
	var library struct{ Cel []struct{ Rule string } }
	if err := utilyaml.Unmarshal(file, &library); err != nil {
		panic(err)
	}
	rules := map[string]bool{}
	for _, row := range library.Cel {
		rules[row.Rule] = true
	}
	return rules
})

// violated returns the rules that a policy reports.
func violated(t testing.TB, validator validating.Validator, attributes *admission.VersionedAttributes, settings json.RawMessage, limit int64) ([]string, error) {
	t.Helper()
	params := &unstructured.Unstructured{Object: map[string]any{"settings": parsed(t, settings)}}
	result := validator.Validate(context.Background(), attributes.GetResource(), attributes, params, nil, limit, nil)
	var found []string
	for _, decision := range result.Decisions {
		if decision.Evaluation == validating.EvalError {
			return nil, errors.New(decision.Message)
		}
		if decision.Action == validating.ActionDeny {
			rule := strings.TrimSuffix(decision.Message[strings.LastIndex(decision.Message, "[")+1:], "]")
			if !covered()[rule] {
				t.Fatalf("no rule in the message %q", decision.Message)
			}
			found = append(found, rule)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// reported returns the covered rules in audit annotations of the module.
func (a expectedResult) reported(annotations ...string) []string {
	found := map[string]bool{}
	for _, name := range annotations {
		// The module truncates long annotations. The message of a denial contains the rules too.
		text := a.Response.Annotations[name]
		if name == "denied" && len(text) > 1000 {
			text += strings.NewReplacer("[", ", ", "]", " ").Replace(a.Response.Message)
		}
		for _, rule := range strings.Split(text, ", ") {
			rule, _, _ = strings.Cut(rule, " ")
			if covered()[rule] {
				found[rule] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// selectedByCustomKinds reports whether the chart selects the request because of `custom_kinds`.
func (a expectedResult) selectedByCustomKinds(request *admissionv1.AdmissionRequest) bool {
	var settings struct {
		CustomKinds []struct {
			Group, Kind string
		} `json:"custom_kinds"`
	}
	if json.Unmarshal(a.Settings, &settings) != nil {
		return false
	}
	isCreate := request.Operation == admissionv1.Create && request.SubResource == ""
	isUpdate := request.Operation == admissionv1.Update && (request.SubResource == "" || request.SubResource == "status")
	for _, declared := range settings.CustomKinds {
		if declared.Group == request.Kind.Group && declared.Kind == request.Kind.Kind {
			return isCreate || isUpdate
		}
	}
	return false
}

// matches reports whether the policy selects a request.
func (p policy) matches(attributes admission.Attributes) bool {
	for _, rule := range p.Spec.MatchConstraints.ResourceRules {
		matcher := rules.Matcher{Rule: rule.RuleWithOperations, Attr: attributes}
		if matcher.Matches() {
			return true
		}
	}
	return false
}

// isStored returns true for a create with a status. The API server drops the status before it evaluates policies, and the library
// takes such a request for a stored object that the audit scanner sends, which has already run.
func isStored(request *admissionv1.AdmissionRequest) bool {
	var object struct{ Status any }
	return request.Operation == admissionv1.Create && json.Unmarshal(request.Object.Raw, &object) == nil && object.Status != nil
}

// withoutDelegation removes the rules that do not apply to objects with a status.
func withoutDelegation(rules []string) []string {
	return slices.DeleteFunc(slices.Clone(rules), func(rule string) bool { return strings.HasPrefix(rule, "delegation/") })
}

// hasMetadata reports whether the API server can decode the metadata of the objects. It accepts values of any type in other fields, if the kind's schema does.
func hasMetadata(request *admissionv1.AdmissionRequest) bool {
	for _, raw := range [][]byte{request.Object.Raw, request.OldObject.Raw} {
		if len(raw) > 0 && json.Unmarshal(raw, &metav1.PartialObjectMetadata{}) != nil {
			return false
		}
	}
	return true
}

// TestPolicies compares the policies with the module on the requests in the file EXPECTED_RESULTS. It skips requests that an API server rejects before
// admission. If the module responds with code 400, because of a value of a wrong type, the policies must have no errors.
func TestPolicies(t *testing.T) {
	path := os.Getenv("EXPECTED_RESULTS")
	if path == "" {
		t.Skip("EXPECTED_RESULTS is not set; run make cel-upstream")
	}
	withParameter, warnsWithParameter := policies(t, nil)
	// The policies with the settings of the last checked-in request.
	var embedded string
	var withSettings, warnsWithSettings policy
	counts := map[string]int{}
	eachLine(t, path, func(a *expectedResult) {
		var request admissionv1.AdmissionRequest
		if json.Unmarshal([]byte(a.Request), &request) != nil || !hasMetadata(&request) {
			counts["impossible"]++
			return
		}
		if request.Resource.Resource == "" {
			request.Resource.Group, request.Resource.Version = request.Kind.Group, request.Kind.Version
			request.Resource.Resource = strings.ToLower(request.Kind.Kind) + "s"
		}
		denies, warns := withParameter, warnsWithParameter
		if !strings.HasPrefix(a.Name, "mixed: ") {
			if string(a.Settings) != embedded {
				embedded = string(a.Settings)
				withSettings, warnsWithSettings = policies(t, a.Settings)
			}
			denies, warns = withSettings, warnsWithSettings
			counts["with embedded settings"]++
		}
		versioned := attributes(t, &request)
		isCustomKind := a.selectedByCustomKinds(&request)
		if !isCustomKind && !denies.matches(ruleAttributes(request, versioned)) {
			counts["not selected"]++
			if got := a.reported("denied", "warned", "exempted"); len(got) > 0 {
				t.Errorf("%s: not selected: %v", a.Name, got)
			}
			return
		}
		for _, side := range []struct {
			policy policy
			want   []string
			action string
		}{{denies, a.reported("denied"), "denies"}, {warns, a.reported("warned", "exempted"), "warns"}} {
			validator := side.policy.Validator
			if isCustomKind {
				validator = side.policy.unconditional
			}
			got, err := violated(t, validator, versioned, a.Settings, budget)
			if err != nil {
				t.Errorf("%s: %v: %s %s", a.Name, err, a.Settings, a.Request)
				continue
			}
			if a.Response.Code == 400 {
				counts[side.action+" malformed"]++
				continue
			}
			want := side.want
			if isStored(&request) {
				got, want = withoutDelegation(got), withoutDelegation(want)
			}
			counts[side.action+" compared"]++
			for _, rule := range got {
				counts[side.action+" "+rule]++
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: CEL %s %v, the module %v: %s %s", a.Name, side.action, got, want, a.Settings, a.Request)
			}
		}
	})
	// Fail if the file contains too few requests or no violations.
	for _, side := range []string{"denies", "warns"} {
		if counts[side+" compared"] < 1000 || counts[side+" managed-by/delegation"] == 0 {
			t.Errorf("too few requests: %v", counts)
		}
	}
	t.Log(counts)
}

func ruleAttributes(request admissionv1.AdmissionRequest, versioned *admission.VersionedAttributes) admission.Attributes {
	return admission.NewAttributesRecord(versioned.GetObject(), nil, schema.GroupVersionKind(request.Kind), request.Namespace, request.Name,
		schema.GroupVersionResource(request.Resource), request.SubResource, versioned.GetOperation(), nil, false, nil)
}

// list returns a JSON list of numbered strings.
func list(format string, count int) string {
	items := make([]string, count)
	for i := range items {
		items[i] = fmt.Sprintf("%q", fmt.Sprintf(format, i))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// large returns settings with many controllers and namespaces, and long lists. No namespace and no status writer matches the
// requests of TestCosts.
func large(controllers, patterns, namespaces, writers int) json.RawMessage {
	entries := make([]string, controllers)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"example.com/controller-%d":{"kinds":["JobSet","Job"],"namespaces":%s,"status_writers":%s}`,
			i, list("team-%d-*", patterns), list("system:serviceaccount:team-%d:controller", writers))
	}
	delegations := make([]string, namespaces)
	for i := range delegations {
		delegations[i] = fmt.Sprintf(`{"match":["namespace-%d"],"delegation":"required"}`, i)
	}
	return json.RawMessage(fmt.Sprintf(`{"role":"management","controllers":{%s},"namespaces":[%s],"builtin_status_writers":{"Job":%s,"JobSet":%s}}`,
		strings.Join(entries, ","), strings.Join(delegations, ","), list("system:serviceaccount:team-%d:a", writers), list("system:serviceaccount:team-%d:b", writers)))
}

// TestCosts logs the cost of expensive requests, as a share of kube-apiserver's limit for a policy, and fails if one exceeds the
// limit.
func TestCosts(t *testing.T) {
	request := func(json string) *admission.VersionedAttributes {
		var request admissionv1.AdmissionRequest
		request.Kind = metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
		request.Resource = metav1.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
		request.Namespace = "team-x"
		if err := utiljson.Unmarshal([]byte(json), &request); err != nil {
			t.Fatal(err)
		}
		return attributes(t, &request)
	}
	long := strings.Repeat("a", 1_400_000)
	owners := strings.Repeat(`{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"1"},`, 20_000)
	requests := map[string]*admission.VersionedAttributes{
		"not delegated":       request(`{"operation":"CREATE","object":{"metadata":{},"spec":{}}}`),
		"child":               request(`{"operation":"CREATE","object":{"metadata":{"ownerReferences":[{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","controller":true}]},"spec":{}}}`),
		"delegated":           request(`{"operation":"CREATE","object":{"metadata":{},"spec":{"managedBy":"example.com/controller-1"}}}`),
		"status":              request(`{"operation":"UPDATE","subResource":"status","oldObject":{"spec":{"managedBy":"example.com/controller-1"}},"object":{"spec":{},"status":{"active":1}}}`),
		"long value":          request(`{"operation":"CREATE","object":{"metadata":{},"spec":{"managedBy":"k8s.io/` + long + `"}}}`),
		"long value, changed": request(`{"operation":"UPDATE","oldObject":{"spec":{"managedBy":"` + long + `b"}},"object":{"metadata":{},"spec":{"managedBy":"` + long + `c"}}}`),
		"long status":         request(`{"operation":"UPDATE","subResource":"status","oldObject":{"spec":{"a":"` + long + `"}},"object":{"spec":{"a":"` + long + `"},"status":{"active":1}}}`),
		"many owners":         request(`{"operation":"CREATE","object":{"metadata":{"ownerReferences":[` + owners + `{"apiVersion":"batch/v1","kind":"Job","controller":true}]},"spec":{}}}`),
	}
	// The larger settings have almost 100,000 characters, the maximum of an expression.
	for _, size := range [][4]int{{1, 1, 1, 1}, {200, 10, 200, 4}, {1, 6700, 1, 1}} {
		settings := large(size[0], size[1], size[2], size[3])
		denies, warns := policies(t, settings)
		for _, name := range slices.Sorted(maps.Keys(requests)) {
			for action, policy := range map[string]policy{"deny": denies, "warn": warns} {
				cost := int64(1000)
				for ; cost < celconfig.RuntimeCELCostBudget; cost = cost * 3 / 2 {
					if _, err := violated(t, policy, requests[name], settings, cost); err == nil {
						break
					}
				}
				if _, err := violated(t, policy, requests[name], settings, celconfig.RuntimeCELCostBudget); err != nil {
					t.Errorf("%v %s, %s: %v", size, name, action, err)
				}
				t.Logf("%v %s, %s: at most %.2f%%", size, name, action, float64(cost)*100/celconfig.RuntimeCELCostBudget)
			}
		}
	}
}
