package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// write writes a file in a directory of the test, and returns its name.
func write(t *testing.T, name, content string) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReportOfEvaluation(t *testing.T) {
	program := write(t, "managed-by", `#!/bin/sh
cat > /dev/null
cat <<'JSON'
{"releases": ["1.35", "1.36.1", "1.36"], "deniedBy": ["1.36.1"], "rejectedWrites": 0, "unfinished": 0,
 "profiles": [{"profile": "Core", "exercisedIn": ["1.35", "1.36.1"], "missing": [{"id": "start"}]}],
 "deniedObjects": [{"object": "Job.batch team-a/x7", "writes": [{"denials": []},
   {"denials": [{"rule": "r", "releases": ["1.36.1"], "message": "m"}]}, {"denials": [{"rule": "r", "releases": ["1.36.1"], "message": "m"}]},
   {"rejected": {"message": "Job.batch \"x7\" is invalid: {\"a\": {}}: immutable"}, "repeated": 2, "denials": []}]}]}
JSON
exit 1
`)
	result, err := evaluate(t.Context(), &Options{Program: program}, nil)
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]*job{"x7": {name: "fail"}}
	report := result.testReport(Core, jobs, true)
	if report.Result != Partial || report.ConformsTo != "1.35" || strings.Join(report.Missing, ",") != "start" || len(report.Findings) != 2 {
		t.Errorf("got %+v", report)
	}
	if want := (TestFinding{Type: "denied", Job: "fail", Rule: "r", Releases: "1.36.1", Count: 2, Message: "m"}); report.Findings[0] != want {
		t.Errorf("got %+v, want %+v", report.Findings[0], want)
	}
	if want := (TestFinding{Type: "rejected", Job: "fail", Count: 3, Message: `Job.batch "fail" is invalid: {...}: immutable`}); report.Findings[1] != want {
		t.Errorf("got %+v, want %+v", report.Findings[1], want)
	}
	result.RejectedWrites = 1
	if report := result.testReport(Core, jobs, true); report.Result != Failure || report.ConformsTo != "" {
		t.Errorf("with a rejected write: got %+v", report)
	}
}

func TestIncompleteRecordingIsAnError(t *testing.T) {
	program := write(t, "managed-by", "#!/bin/sh\necho '{\"skipped\": 1}'; echo 'truncated line' >&2; exit 2\n")
	if _, err := evaluate(t.Context(), &Options{Program: program}, nil); err == nil || !strings.Contains(err.Error(), "truncated line") {
		t.Errorf("got %v", err)
	}
}

func TestProfileReport(t *testing.T) {
	report := profileReport([]TestReport{{Name: Core, Result: Success}, {Name: "Indexed", Result: Partial}, {Name: "Suspend", Result: Skipped}})
	const want = "Core: success. Extended features: partial (0 passed, 1 partial, 1 skipped, 0 failed)."
	if report.Summary != want || len(report.Extended.UnsupportedFeatures) != len(Features())-2 {
		t.Errorf("got %+v", report)
	}
}

func TestAuditLogWithoutOwnRejections(t *testing.T) {
	event := func(id, code, stage string) string {
		return `{"stage":"` + stage + `","auditID":"` + id + `","verb":"create","userAgent":"suite","objectRef":{"resource":"jobs","apiGroup":"batch","namespace":"team-a","name":"mine"},"responseStatus":{"code":` + code + `}}`
	}
	path := write(t, "audit.log", strings.Join([]string{
		event("1", "200", "ResponseComplete"), event("2", "422", "ResponseComplete"),
		event("own", "201", "RequestReceived"), event("own", "403", "ResponseComplete"),
		`{"objectRef":{"resource":"pods","namespace":"team-a","name":"mine"}}`, "not JSON", "",
	}, "\n"))
	own := &ownRequests{}
	own.ids.Store("own", nil)
	records, err := readAuditLog(path, "team-a", own)
	if err != nil || len(records) != 3 || countAccepted(records) != 1 || !strings.Contains(string(records[0].line), "own") {
		t.Errorf("got %d records, %d accepted, %v", len(records), countAccepted(records), err)
	}
	if records, err := readAuditLog(path, "team-b", own); err != nil || len(records) != 0 {
		t.Errorf("got %d records, %v", len(records), err)
	}
}

// TestOutcome checks what only extended features have. go/envtest runs controllers for the rest.
func TestOutcome(t *testing.T) {
	suspended := `"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"True"}]`
	failed := `"conditions":[{"type":"Failed","status":"True"}],"completedIndexes":"1,3-4","failedIndexes":"0,2"`
	started := `"startTime":"2026-01-01T00:00:00Z"`
	for _, test := range []struct {
		name     string
		statuses []string
		want     string
	}{
		{"as expected", []string{"", started, suspended, started, failed}, ""},
		{"never suspended", []string{"", started, failed}, "the Job was suspended 0 times, must be 1"},
		{"suspended before the start", []string{suspended, started, failed}, "the Job was suspended 0 times, must be 1"},
		{"another index", []string{"", started, suspended, strings.ReplaceAll(failed, "0,2", "0,1")}, `failedIndexes is "0,1", must be [0 2]`},
		{"an index too few", []string{"", started, suspended, strings.ReplaceAll(failed, "3-4", "3")}, `completedIndexes is "1,3", must be [1 3 4]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var watched []record
			for _, status := range test.statuses {
				line := `{"type":"MODIFIED","object":{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{},"status":{` + status + `}}}`
				watched = append(watched, record{object: "x", line: []byte(line), at: time.Now()})
			}
			job := &job{object: "x", want: outcome{end: batchv1.JobFailed, suspended: 1, completed: []int{1, 3, 4}, failedIndexes: []int{0, 2}}}
			var got []string
			for _, finding := range job.check(&Options{}, watched) {
				got = append(got, finding.Message)
			}
			if strings.Join(got, "; ") != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
