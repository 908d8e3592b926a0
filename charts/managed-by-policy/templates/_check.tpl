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
{{- $server := include "managed-by.policyServer" $root -}}
{{- if and $canLookUp $needsKubewarden (not $root.Values.policyServer.create) (not (lookup "policies.kubewarden.io/v1" "PolicyServer" "" $server)) -}}
  {{- $problems = append $problems (printf "policyServer.name: must be a PolicyServer; %q does not exist, and the policy on the current one would be deleted" $server) -}}
{{- end -}}
{{- if and $canLookUp $needsKubewarden (eq $root.Values.mode "protect") (not $root.Values.cel.enabled) -}}
  {{- range dig "items" list (lookup "policies.kubewarden.io/v1" "ClusterAdmissionPolicy" "" "") -}}
    {{- $isOwn := and (eq (dig "annotations" "meta.helm.sh/release-name" "" .metadata) $root.Release.Name) (eq (dig "annotations" "meta.helm.sh/release-namespace" "" .metadata) $root.Release.Namespace) -}}
    {{- if and $isOwn (eq .spec.mode "protect") (ne .spec.policyServer $server) -}}
      {{- $problems = append $problems (printf "policyServer.name: must stay %q, because Helm deletes the policy there before %q enforces the new one. Set cel.enabled to true, at least until the new policy is active"
        .spec.policyServer $server) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- /* Users with the ClusterRole `edit` may act as the service accounts in their namespace, for example to delete reports. */ -}}
{{- range list "cel" "pods" "queues" "flowSchema" "statusReports" -}}
  {{- if and $root.Values.namespaced (index $root.Values .).enabled -}}
    {{- $problems = append $problems (printf "%s.enabled: must be false if namespaced is true, because it %s" .
      (eq . "statusReports" | ternary "lets users who may act as its service account delete audit reports" "applies to all namespaces")) -}}
  {{- end -}}
{{- end -}}
{{- /* values.schema.json cannot compare values. */ -}}
{{- range $path, $resources := dict "policyServer" $root.Values.policyServer "statusReports.resources" $root.Values.statusReports.resources -}}
  {{- range $name, $request := $resources.requests -}}
    {{- if and (hasKey $resources.limits $name) (gt (include "managed-by.amount" $request | float64) (include "managed-by.amount" (get $resources.limits $name) | float64)) -}}
      {{- $problems = append $problems (printf "%s.requests.%s: must not exceed the limit" $path $name) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if and $root.Values.policyServer.minAvailable (hasKey $root.Values.policyServer.spec "maxUnavailable") -}}
  {{- $problems = append $problems "policyServer.minAvailable: must be 0 if policyServer.spec.maxUnavailable is set" -}}
{{- end -}}
{{- with $root.Values.webhook.caBundle -}}
  {{- if not (regexMatch "-----BEGIN CERTIFICATE-----[\\sA-Za-z0-9+/=]+-----END CERTIFICATE-----" (b64dec .)) -}}
    {{- $problems = append $problems "webhook.caBundle: must be certificates in PEM, encoded in base64" -}}
  {{- end -}}
{{- end -}}
{{- range $root.Values.networkPolicy.apiServers -}}
  {{- $ends := splitList "/" . -}}{{- $isV6 := contains ":" . -}}{{- $bits := "" -}}
  {{- range compact (regexSplit "[.:]+" (first $ends) -1) -}}
    {{- $bits = printf (ternary "%s%016b" "%s%08b" $isV6) $bits (int (ternary (printf "0x%s" .) . $isV6)) -}}
  {{- end -}}
  {{- if not (regexMatch (printf "^[01]{%s}0*$" (last $ends)) (printf "%s%0128d" $bits 0)) -}}
    {{- $problems = append $problems (printf "networkPolicy.apiServers: %s must be a network, whose address has no bits after the first %s" . (last $ends)) -}}
  {{- end -}}
{{- end -}}
{{- $named := dict "jan" 1 "feb" 2 "mar" 3 "apr" 4 "may" 5 "jun" 6 "jul" 7 "aug" 8 "sep" 9 "oct" 10 "nov" 11 "dec" 12 "sun" 0 "mon" 1 "tue" 2 "wed" 3 "thu" 4 "fri" 5 "sat" 6 -}}
{{- range regexFindAll "[a-z0-9]+-[a-z0-9]+" $root.Values.statusReports.schedule -1 -}}
  {{- $ends := list -}}
  {{- range splitList "-" . -}}{{- $ends = append $ends (dig . (atoi .) $named | int) -}}{{- end -}}
  {{- if gt (first $ends) (last $ends) -}}{{- $problems = append $problems (printf "statusReports.schedule: the range %s must not end before it begins" .) -}}{{- end -}}
{{- end -}}
{{- $settings := include "managed-by.settings" . | fromYaml -}}
{{- /* Report the indexes in the user's values. */ -}}
{{- $_ := set $settings "namespaces" (slice (default list $settings.namespaces) (include "managed-by.ownNamespaces" $root | fromJsonArray | len)) -}}
{{- $problems = concat $problems (include "managed-by.settingsProblems" (list $root $settings) | fromJsonArray) -}}
{{- if $problems -}}
  {{- fail (printf "\n\nvalues to set or correct:\n- %s\n" (join "\n- " (uniq $problems))) -}}
{{- end -}}
{{- end }}

{{/* The number in a quantity, such as 1024 for 1Ki. */}}
{{- define "managed-by.amount" -}}
{{- $unit := regexFind "[a-zA-Z]*$" (toString .) -}}
{{- $power := dict "k" 1 "M" 2 "G" 3 "T" 4 "P" 5 "E" 6 "Ki" 1 "Mi" 2 "Gi" 3 "Ti" 4 "Pi" 5 "Ei" 6 -}}
{{- $number := ternary 0.001 1.0 (eq $unit "m") | mulf (trimSuffix $unit (toString .) | float64) -}}
{{- range until (dig $unit 0 $power | int) -}}{{- $number = mulf $number (ternary 1024 1000 (hasSuffix "i" $unit)) -}}{{- end -}}
{{- $number -}}
{{- end }}
