// Command conformance tests a controller of Jobs in a cluster, and writes a report.
//
// The exit code is 0 if the controller conforms to at least one release with all of the tested features, and 1 otherwise.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/managed-by-policy/managed-by-policy/go/conformance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	conforms, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	if !conforms {
		os.Exit(1)
	}
}

func run(ctx context.Context) (bool, error) {
	// The flags have the names of Gateway API's suite.
	var o conformance.Options
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, or ~/.kube/config)")
	flag.StringVar(&o.Namespace, "namespace", "", "`namespace` for the Jobs (default: that of the kubeconfig's context)")
	flag.StringVar(&o.Controller, "controller", "", "`name` of the controller in managedBy (default: none, which tests the built-in Job controller)")
	jobLabels := flag.String("labels", "", "labels of the Jobs, such as kueue.x-k8s.io/queue-name=queue")
	features := flag.String("supported-features", strings.Join(conformance.Features(), ","), "extended features to test")
	skip := flag.String("skip-tests", "", "tests to skip")
	flag.StringVar(&o.AuditLog, "audit-log", "", "audit log `file` of the API server, with Jobs at the level RequestResponse (without it, rejected writes are unknown)")
	flag.StringVar(&o.Releases, "kubernetes", "", "`releases` to evaluate (default 1.32+)")
	flag.StringVar(&o.Program, "managed-by", "", "`path` of managed-by (default: on the PATH)")
	flag.StringVar(&o.Image, "image", "", "`image` with /bin/sh (default busybox:1.36)")
	flag.DurationVar(&o.Timeout, "timeout", 0, "time for each Job (default 2m)")
	output := flag.String("report-output", "", "`file` for the report (default: standard output)")
	flag.StringVar(&o.RecordingOutput, "recording-output", "", "`file` for the recording")
	flag.Uint64Var(&o.Seed, "seed", 0, "the `number` of the Jobs (default: random)")
	flag.StringVar(&o.Implementation.Organization, "organization", "", "organization of the implementation")
	flag.StringVar(&o.Implementation.Project, "project", "", "project of the implementation")
	flag.StringVar(&o.Implementation.URL, "url", "", "URL of the implementation")
	flag.StringVar(&o.Implementation.Version, "version", "", "version of the implementation")
	contact := flag.String("contact", "", "contacts of the implementation")
	flag.Parse()
	if flag.NArg() > 0 {
		return false, fmt.Errorf("unexpected argument %q: flags have the form --name=value", flag.Arg(0))
	}

	list := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	}
	o.SupportedFeatures, o.SkipTests, o.Implementation.Contact = list(*features), list(*skip), list(*contact)
	o.Log = func(format string, arguments ...any) { fmt.Fprintf(os.Stderr, format+"\n", arguments...) }
	if *output != "" {
		if err := o.Implementation.Validate(); err != nil {
			return false, err
		}
	}
	for _, name := range []string{*output, o.RecordingOutput} {
		if err := writable(name); err != nil {
			return false, err
		}
	}
	var err error
	if o.Labels, err = labels.ConvertSelectorToLabelsMap(*jobLabels); err != nil {
		return false, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = *kubeconfig
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	if o.Config, err = config.ClientConfig(); err != nil {
		return false, err
	}
	if o.Namespace == "" {
		if o.Namespace, _, err = config.Namespace(); err != nil {
			return false, err
		}
	}
	report, _, err := conformance.Run(ctx, o)
	if err != nil {
		return false, err
	}
	text, err := yaml.Marshal(report)
	if err != nil {
		return false, err
	}
	profile := &report.Profiles[0]
	fmt.Fprintln(os.Stderr, profile.Summary)
	conforms := profile.Core.Result != conformance.Failure && (profile.Extended == nil || profile.Extended.Result != conformance.Failure)
	if *output == "" {
		_, err = os.Stdout.Write(text)
		return conforms, err
	}
	return conforms, os.WriteFile(*output, text, 0o644)
}

// writable returns an error if a file can't be written, before a run that takes minutes.
func writable(name string) error {
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}
