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
{{- $settings := include "managed-by.settings" . | fromYaml -}}
{{- $problems = concat $problems (include "managed-by.settingsProblems" (list $root $settings) | fromJsonArray) -}}
{{- if $problems -}}
  {{- fail (printf "\n\nvalues to set or correct:\n- %s\n" (join "\n- " (uniq $problems))) -}}
{{- end -}}
{{- end }}
