package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/batch"
)

// PairAnswers holds what is said of every pair of a case's objects: each as the old one, with each as the new one. Pairs
// names the answers by their places in Answers, old by old; of millions of pairs few answers are different.
type PairAnswers struct {
	Name    string    `json:"name"`
	Answers []*Answer `json:"answers"`
	Pairs   []int     `json:"pairs"`
	Panic   string    `json:"panic,omitempty"`
}

func answerPairs(c *Case) (a *PairAnswers) {
	a = &PairAnswers{Name: c.Name}
	defer recovered(&a.Panic)
	jobs := make([]*batch.Job, len(c.Objects))
	for i, raw := range c.Objects {
		object, err := decode(raw)
		if err != nil {
			a.Panic = err.Error()
			return a
		}
		jobs[i] = object.(*batch.Job)
	}
	a.Pairs = make([]int, 0, len(jobs)*len(jobs))
	places := map[string]int{}
	var key []byte
	for _, old := range jobs {
		for _, object := range jobs {
			kind, name, errs := validate(c, copied(c, object), copied(c, old))
			key = key[:0]
			for _, e := range errs {
				key = append(appendError(key, e), '\n')
			}
			place, known := places[string(key)]
			if !known {
				place = len(a.Answers)
				places[string(key)] = place
				answer := &Answer{Name: c.Name, Errors: []FieldError{}}
				answer.say(kind, name, errs)
				a.Answers = append(a.Answers, answer)
			}
			a.Pairs = append(a.Pairs, place)
		}
	}
	return a
}

// appendError writes what tells an error from others. Its whole text takes long to make, and most errors print no value.
func appendError(key []byte, e *field.Error) []byte {
	if _, omitted := e.BadValue.(field.OmitValueType); !omitted {
		return append(key, e.Error()...)
	}
	key = append(key, e.Type...)
	key = append(key, e.Field...)
	return append(key, e.Detail...)
}

// copied is an object that a strategy may prepare. That of the status only replaces the spec.
func copied(c *Case, job *batch.Job) runtime.Object {
	if c.SubResource != "status" {
		return job.DeepCopy()
	}
	shallow := *job
	return &shallow
}
