{{/* Fails if Kubewarden is not installed, or with a list of all other problems: (list . CLUSTER), where CLUSTER is the result of "managed-by.projects". */}}
{{- define "managed-by.check" -}}
{{- $root := index . 0 -}}
{{- $problems := (index . 1).problems -}}
{{- $canLookUp := "" -}}
{{- if not $root.Values.namespaced -}}{{- $canLookUp = include "managed-by.canLookUp" $root -}}{{- end -}}
{{- $needsKubewarden := and $root.Values.policy.enabled (not $root.Values.webhook.enabled) -}}
{{- if and $canLookUp $needsKubewarden (not (include "managed-by.hasKubewarden" $root)) -}}
  {{- fail "\n\nKubewarden is not installed: its CustomResourceDefinitions are missing. Install its chart first." -}}
{{- end -}}
{{- if and (eq $root.Values.kubernetesVersion "auto") (not (include "managed-by.hasClusterVersions" $root)) -}}
  {{- $problems = append $problems (printf "kubernetesVersion: must be the release of the API server, such as %q, or %q to deny only what every release denies: Helm can't detect the release without a cluster"
    (include "managed-by.newestRelease" $root) "") -}}
{{- end -}}
{{- if and $canLookUp $root.Values.policy.enabled (not (lookup "v1" "Namespace" "" $root.Values.kubewardenNamespace)) -}}
  {{- $problems = append $problems (printf "kubewardenNamespace: must be the namespace of Kubewarden; namespace %q does not exist"
    $root.Values.kubewardenNamespace) -}}
{{- end -}}
{{- if and $root.Values.cel.enabled $root.Values.namespaced -}}
  {{- $problems = append $problems "cel.enabled: must be false if namespaced is true, because a ValidatingAdmissionPolicy applies to all namespaces" -}}
{{- end -}}
{{- $problems = concat $problems (include "managed-by.namespaceProblems" $root | fromJsonArray) -}}
{{- if $problems -}}
  {{- fail (printf "\n\nvalues to set or correct:\n- %s\n" (join "\n- " (uniq $problems))) -}}
{{- end -}}
{{- end }}

{{/* Problems in the value `namespaces` that values.schema.json does not detect. PolicyServer does not start with such settings. */}}
{{- define "managed-by.namespaceProblems" -}}
{{- $problems := list -}}
{{- $entries := default list .Values.namespaces -}}
{{- range $index, $entry := $entries -}}
  {{- if and (eq $.Values.role "worker") (eq .delegation "required") -}}
    {{- $problems = append $problems (printf "namespaces[%d].delegation: a cluster with the role worker cannot require delegation" $index) -}}
  {{- end -}}
  {{- range $name := default (list "*") .match -}}
    {{- with include "managed-by.matchingEntry" (list $name (slice $entries 0 $index)) -}}
      {{- $problems = append $problems (printf "namespaces[%d]: %q is never reached, because namespaces[%s] matches it" $index $name (splitList " " . | first)) -}}
    {{- end -}}
  {{- end -}}
  {{- if ne (len (uniq (default list .match))) (len (default list .match)) -}}
    {{- $problems = append $problems (printf "namespaces[%d].match: lists a name twice" $index) -}}
  {{- end -}}
{{- end -}}
{{- $problems | toJson -}}
{{- end }}
