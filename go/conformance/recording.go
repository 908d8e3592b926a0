package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// ownRequests contains the audit ids of the suite's requests. A user agent could be anyone's.
type ownRequests struct{ ids sync.Map }

// wrap returns a transport that records the ids.
func (o *ownRequests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil {
			o.ids.Store(response.Header.Get("Audit-Id"), nil)
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// record is a line of a recording: a watch event or an audit event.
type record struct {
	// object is the name of the Job.
	object string
	line   []byte
	// accepted is false for deletions in a watch, because the audit log lacks those of collections.
	accepted bool
	// at is when an event of a watch arrived.
	at time.Time
	// user wrote it, and isStatus is true for a write of the status, in an audit log.
	user     string
	isStatus bool
}

// countAccepted returns the number of accepted writes.
func countAccepted(records []record) int {
	count := 0
	for _, record := range records {
		if record.accepted {
			count++
		}
	}
	return count
}

// linesOf returns the lines about the Jobs for which the filter returns true.
func linesOf(records []record, filter func(object string) bool) []byte {
	var lines bytes.Buffer
	for _, record := range records {
		if filter(record.object) {
			lines.Write(record.line)
			lines.WriteByte('\n')
		}
	}
	return lines.Bytes()
}

// startWatch records the events of all Jobs in a namespace. The returned function stops the watch, and returns the events.
func startWatch(ctx context.Context, client dynamic.Interface, namespace string) (func() ([]record, error), error) {
	jobs := client.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace(namespace)
	list, err := jobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return jobs.Watch(ctx, options)
		},
	})
	if err != nil {
		return nil, err
	}
	var records []record
	var failure error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watcher.ResultChan() {
			switch object, isObject := event.Object.(*unstructured.Unstructured); {
			case event.Type == watch.Error:
				failure = fmt.Errorf("the watch ended early: %w", apierrors.FromObject(event.Object))
			case isObject && event.Type != watch.Bookmark:
				// The object comes from JSON.
				line, _ := json.Marshal(map[string]any{"type": event.Type, "object": object})
				isWrite := event.Type != watch.Deleted && object.GetDeletionTimestamp() == nil
				records = append(records, record{object: object.GetName(), line: line, accepted: isWrite, at: time.Now()})
			}
		}
	}()
	return func() ([]record, error) {
		watcher.Stop()
		<-ended
		return records, failure
	}, nil
}

// readAuditLog returns the audit events of the writes to Jobs in a namespace, without the suite's own requests that were rejected. Those that
// created its Jobs come first: the API server logs a write when its response is sent, and a fast controller may have been rejected by then.
func readAuditLog(path, namespace string, own *ownRequests) ([]record, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var created, others []record
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return append(created, others...), nil
		}
		if err != nil {
			return nil, err
		}
		var event struct {
			AuditID, Stage, Verb string
			User                 struct{ Username string }
			ObjectRef            struct{ Resource, Subresource, Namespace, Name, APIGroup string }
			ResponseStatus       struct{ Code int }
		}
		// Other lines are not about Jobs.
		object := &event.ObjectRef
		if json.Unmarshal(line, &event) != nil || object.APIGroup != batchv1.GroupName || object.Resource != "jobs" || object.Namespace != namespace {
			continue
		}
		_, isOwn := own.ids.Load(event.AuditID)
		if accepted := event.ResponseStatus.Code < 300; accepted || !isOwn {
			records := &others
			if isOwn && event.Verb == "create" {
				records = &created
			}
			*records = append(*records, record{
				object: object.Name, line: bytes.TrimSuffix(line, []byte("\n")), accepted: accepted && event.Stage == "ResponseComplete",
				user: event.User.Username, isStatus: object.Subresource == "status",
			})
		}
	}
}
