package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// evaluation is the JSON that `managed-by conformance` prints.
type evaluation struct {
	Version        string   `json:"version"`
	Releases       []string `json:"releases"`
	Writes         int      `json:"writes"`
	StatusWrites   int      `json:"statusWrites"`
	RejectedWrites int32    `json:"rejectedWrites"`
	Skipped        int      `json:"skipped"`
	DeniedBy       []string `json:"deniedBy"`
	Unfinished     int      `json:"unfinished"`
	Profiles       []struct {
		Profile     string   `json:"profile"`
		ExercisedIn []string `json:"exercisedIn"`
		Missing     []struct {
			ID string `json:"id"`
		} `json:"missing"`
	} `json:"profiles"`
	DeniedObjects []struct {
		Object string `json:"object"`
		Writes []struct {
			Rejected *struct {
				Message string `json:"message"`
			} `json:"rejected"`
			Repeated int `json:"repeated"`
			Denials  []struct {
				Rule     string   `json:"rule"`
				Releases []string `json:"releases"`
				Message  string   `json:"message"`
			} `json:"denials"`
		} `json:"writes"`
	} `json:"deniedObjects"`
	Warnings []struct {
		Rule   string `json:"rule"`
		Title  string `json:"title"`
		Writes int    `json:"writes"`
		Object string `json:"object"`
	} `json:"warnings"`
	UnfinishedObjects []struct {
		Object  string `json:"object"`
		Problem string `json:"problem"`
	} `json:"unfinishedObjects"`
}

// evaluate runs `managed-by conformance` on a recording.
func evaluate(ctx context.Context, o *Options, recording []byte) (*evaluation, error) {
	command := exec.CommandContext(ctx, o.Program, "conformance", "--no-config", "--output=json", "--allow-empty", "--kubernetes="+o.Releases, "--controller="+o.controller())
	command.Stdin = bytes.NewReader(recording)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	// A controller that does not conform is not an error.
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	result := &evaluation{}
	if json.Unmarshal(output, result) != nil {
		return nil, fmt.Errorf("%s printed no report: %s", o.Program, cmp.Or(strings.TrimSpace(stderr.String()), "and no error"))
	}
	if result.Skipped > 0 {
		return nil, fmt.Errorf("the recording is incomplete: %s", &stderr)
	}
	return result, nil
}

// objectDump matches an object in an error message of the API server.
var objectDump = regexp.MustCompile(`(?s)\{.*\}`)

// clean bounds a text that others wrote, without the objects and control characters in it.
func clean(text string) string {
	const limit = 500
	text = strings.ToValidUTF8(objectDump.ReplaceAllString(text, "{...}"), "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, text)
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return text
}

// testReport returns the result of a test from the evaluation of its Jobs.
func (e *evaluation) testReport(name string, jobs map[string]*job, rejectionsKnown bool) TestReport {
	report := TestReport{Name: name, Result: Failure}
	// An object is a kind, a namespace and a name.
	job := func(object string) string { return jobs[object[strings.LastIndex(object, "/")+1:]].name }
	limited := func(releases []string) Releases {
		if len(releases) == len(e.Releases) {
			return ""
		}
		return join(releases)
	}
	var conformsTo []string
	for _, object := range e.DeniedObjects {
		for _, write := range object.Writes {
			switch {
			case write.Rejected != nil:
				_, object, _ := strings.Cut(object.Object, "/")
				finding := TestFinding{Type: "rejected", Job: job(object), Count: 1 + write.Repeated, Message: clean(strings.ReplaceAll(write.Rejected.Message, object, job(object)))}
				for _, denial := range write.Denials {
					finding.Rule = denial.Rule
					report.add(finding)
				}
				if len(write.Denials) == 0 {
					report.add(finding)
				}
			default:
				for _, denial := range write.Denials {
					report.add(TestFinding{Type: "denied", Job: job(object.Object), Rule: denial.Rule, Releases: limited(denial.Releases), Count: 1, Message: denial.Message})
				}
			}
		}
	}
	for _, object := range e.UnfinishedObjects {
		report.add(TestFinding{Type: "unfinished", Job: job(object.Object), Message: object.Problem})
	}
	for _, warning := range e.Warnings {
		report.Warnings = append(report.Warnings, TestFinding{Type: "warning", Job: job(warning.Object), Rule: warning.Rule, Count: warning.Writes, Message: warning.Title})
	}
	for _, profile := range e.Profiles {
		if profile.Profile != name {
			continue
		}
		for _, part := range profile.Missing {
			report.Missing = append(report.Missing, part.ID)
		}
		if e.RejectedWrites == 0 && e.Unfinished == 0 {
			conformsTo = slices.DeleteFunc(profile.ExercisedIn, func(release string) bool { return slices.Contains(e.DeniedBy, release) })
		}
	}
	// The order of unfinished Jobs is random.
	slices.SortStableFunc(report.Findings, func(a, b TestFinding) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Job, b.Job)) })
	report.ConformsTo = join(conformsTo)
	switch {
	case len(conformsTo) == 0:
	case len(conformsTo) < len(e.Releases) || !rejectionsKnown:
		report.Result = Partial
	default:
		report.Result = Success
	}
	return report
}

func join(releases []string) Releases { return Releases(strings.Join(releases, ",")) }

// fail adds findings that the evaluation of writes can't have.
func (t *TestReport) fail(findings []TestFinding) {
	for _, finding := range findings {
		finding.Message = clean(finding.Message)
		t.Findings = append(t.Findings, finding)
		t.Result, t.ConformsTo = Failure, ""
	}
}

// add adds a finding, or counts it if the test has it already.
func (t *TestReport) add(finding TestFinding) {
	for i := range t.Findings {
		known := &t.Findings[i]
		if known.Type == finding.Type && known.Job == finding.Job && known.Rule == finding.Rule && known.Message == finding.Message && known.Releases == finding.Releases {
			known.Count += finding.Count
			return
		}
	}
	t.Findings = append(t.Findings, finding)
}

// profileReport summarizes the tests.
func profileReport(reports []TestReport) ProfileReport {
	profile := ProfileReport{Name: "Job"}
	extended := &ExtendedStatus{}
	for _, test := range newTests(1) {
		i := slices.IndexFunc(reports, func(report TestReport) bool { return report.Name == test.name })
		switch {
		case i >= 0 && test.name == Core:
			profile.Core.add(&reports[i])
		case i >= 0:
			extended.Status.add(&reports[i])
			extended.SupportedFeatures = append(extended.SupportedFeatures, test.name)
		default:
			extended.UnsupportedFeatures = append(extended.UnsupportedFeatures, test.name)
		}
	}
	profile.Core.conclude()
	profile.Summary = fmt.Sprintf("Core: %s.", profile.Core.Result)
	if len(extended.SupportedFeatures) > 0 {
		extended.conclude()
		count := &extended.Statistics
		profile.Summary += fmt.Sprintf(" Extended features: %s (%d passed, %d partial, %d skipped, %d failed).", extended.Result, count.Passed, count.Partial, count.Skipped, count.Failed)
		profile.Extended = extended
	}
	return profile
}

func (s *Status) add(report *TestReport) {
	switch report.Result {
	case Success:
		s.Statistics.Passed++
	case Partial:
		s.Statistics.Partial++
	case Skipped:
		s.Statistics.Skipped++
		s.SkippedTests = append(s.SkippedTests, report.Name)
	case Failure:
		s.Statistics.Failed++
		s.FailedTests = append(s.FailedTests, report.Name)
	}
}

func (s *Status) conclude() {
	switch {
	case s.Statistics.Failed > 0:
		s.Result = Failure
	case s.Statistics.Skipped > 0 || s.Statistics.Partial > 0:
		s.Result = Partial
	default:
		s.Result = Success
	}
}
