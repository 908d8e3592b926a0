{{/* Fails with all problems at once: (list . CLUSTER) */}}
{{- define "managed-by.check" -}}
{{- $root := index . 0 -}}
{{- $problems := (index . 1).problems -}}
{{- $isOnline := "" -}}
{{- if not $root.Values.namespaced -}}{{- $isOnline = include "managed-by.isOnline" $root -}}{{- end -}}
{{- if and $isOnline (not $root.Values.webhook.enabled) (not (include "managed-by.hasKubewarden" $root)) -}}
  {{- fail "\n\nKubewarden is not installed: its CustomResourceDefinitions are missing. Install its chart first." -}}
{{- end -}}
{{- if and (eq $root.Values.kubernetesVersion "auto") (not (include "managed-by.isListed" $root)) -}}
  {{- $problems = append $problems "kubernetesVersion: the release of the API server, such as \"1.37\", because there is no cluster to ask; \"\" denies only what every release denies" -}}
{{- end -}}
{{- if and $isOnline (not (lookup "v1" "Namespace" "" $root.Values.kubewardenNamespace)) -}}
  {{- $problems = append $problems (printf "kubewardenNamespace: the namespace of Kubewarden, because there is no %q" $root.Values.kubewardenNamespace) -}}
{{- end -}}
{{- if $problems -}}
  {{- fail (printf "\n\nvalues to set:\n- %s\n" (join "\n- " (uniq $problems))) -}}
{{- end -}}
{{- end }}
