#!/usr/bin/env bash
# `make e2e-kind`: installs Kubewarden's chart and this project's chart in a kind cluster, like a user. Requires docker, kind, helm, kubectl, kwctl and
# jq, and downloads Kubewarden's chart and images from its registries. Removes the cluster and the registry at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

CHART_VERSION=6.2.0 # admission-controller, with Kubewarden 1.38
CLUSTER=managed-by-e2e
REGISTRY=managed-by-e2e-registry
PORT=5001
passed=0 failed=0

for program in docker kind helm kubectl kwctl jq; do
  command -v "$program" >/dev/null || { echo "skip  kind: $program is not on the PATH"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }
done

work=$(mktemp -d)
export KUBECONFIG=$work/kubeconfig
clean_up() {
  kind delete cluster --name "$CLUSTER" >/dev/null 2>&1 || true
  docker rm --force "$REGISTRY" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT

# Runs a command and reports whether it succeeds: check TITLE COMMAND...
check() {
  local title=$1
  shift
  if "$@" >"$work/output" 2>&1; then
    passed=$((passed + 1)) && echo "ok    $title"
  else
    failed=$((failed + 1)) && echo "FAIL  $title" && sed 's/^/      /' "$work/output"
  fi
}

# Push the module to a registry that the nodes reach by name and the host on loopback.
docker run --detach --name "$REGISTRY" --publish "127.0.0.1:$PORT:5000" registry:2 >/dev/null
kind create cluster --name "$CLUSTER" --wait 120s
docker network connect kind "$REGISTRY"
echo "insecure_sources: [\"127.0.0.1:$PORT\"]" >"$work/sources.yml"
kwctl push --sources-path "$work/sources.yml" annotated-policy.wasm "127.0.0.1:$PORT/managed-by-policy:e2e"

helm install kubewarden admission-controller --repo https://charts.kubewarden.io --version "$CHART_VERSION" --namespace kubewarden --create-namespace \
  --set "policyServer.insecureSources[0]=$REGISTRY:5000" --wait --timeout 10m >/dev/null

kubectl create namespace team-a
# Create this Job before the policy, so that only the audit scanner can report it.
kubectl create job stored --namespace team-a --image busybox -- true

install_chart() { helm upgrade --install managed-by charts/managed-by-policy --namespace kubewarden --set "role=management,module.registry=$REGISTRY:5000,module.repository=managed-by-policy,module.tag=e2e,$1"; }
check "the chart can be installed" install_chart mode=monitor
check "the policy becomes active" kubectl wait --for=condition=PolicyActive --timeout=5m clusteradmissionpolicy/managed-by-monitor
check "monitor: a Job that is not delegated is created" kubectl create job watched --namespace team-a --image busybox -- true
check "the chart can be upgraded to mode protect" install_chart mode=protect

denied() {
  for _ in $(seq 60); do
    # An admin in system:masters is exempt in these settings; ana is not.
    if kubectl create job denied --namespace team-a --image busybox --dry-run=server --as ana --as-group developers -- true 2>&1 | grep --quiet 'managed-by/delegation'; then
      return 0
    fi
    sleep 2
  done
  return 1
}
kubectl create clusterrolebinding ana --clusterrole edit --user ana
check "protect: a Job that is not delegated is denied" denied

scanned() {
  local scanner
  scanner=$(kubectl get cronjobs --namespace kubewarden --output name | grep audit-scanner)
  kubectl create job scan --namespace kubewarden --from "$scanner"
  kubectl wait --for=condition=Complete --timeout=5m --namespace kubewarden job/scan
  kubectl get reports.openreports.io --namespace team-a --output json >"$work/reports.json"
  jq --exit-status '[.items[] | select(.scope.name == "stored") | .results[] | select(.result == "fail" and (.policy | contains("managed-by")))] | length > 0' "$work/reports.json"
}
check "the audit scanner reports the Job that existed before the policy" scanned

echo
echo "$passed passed, $failed failed, 0 skipped"
exit $((failed > 0))
