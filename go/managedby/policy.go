package managedby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Policy judges requests with the settings that it was made with. [New] makes one. Many goroutines may use it at once.
type Policy struct {
	module   *module
	settings json.RawMessage
	releases Releases
	user     authenticationv1.UserInfo
	scheme   *runtime.Scheme
}

// Option changes what [New] makes.
type Option func(*Policy) error

// WithSettings gives the policy's settings as JSON or as YAML; without them they are {}. They are those of a Kubewarden manifest:
// https://github.com/managed-by-policy/managed-by-policy/blob/main/docs/settings.md. New refuses settings that a policy
// server would refuse, with every problem found.
//
// The key kubernetes_version counts for [Policy.Review] alone: whatever checks for many releases sets it itself.
func WithSettings(settings []byte) Option {
	return func(p *Policy) error {
		if json.Valid(settings) {
			p.settings = slices.Clone(settings)
			return nil
		}
		var err error
		if p.settings, err = yaml.YAMLToJSONStrict(settings); err != nil {
			return fmt.Errorf("managedby: settings: %w", err)
		}
		if string(p.settings) == "null" {
			return errors.New("managedby: settings: they are empty; write {} for none")
		}
		return nil
	}
}

// WithReleases names the releases that are asked; without it, all are.
func WithReleases(releases ...Release) Option {
	return func(p *Policy) error {
		if len(releases) == 0 {
			return errors.New("managedby: WithReleases needs a release")
		}
		for _, release := range releases {
			if _, err := ParseRelease(string(release)); err != nil {
				return err
			}
		}
		p.releases = Releases(nil).with(releases)
		return nil
	}
}

// WithUser says who asks, for settings that name the writers of a status. [Policy.Review] takes the user of its request.
func WithUser(user authenticationv1.UserInfo) Option {
	return func(p *Policy) error {
		p.user = user
		return nil
	}
}

// WithScheme says of which kinds your Go types are, for objects without TypeMeta in [Policy.Check]; without it, the types of batch/v1 are
// known.
func WithScheme(scheme *runtime.Scheme) Option {
	return func(p *Policy) error {
		p.scheme = scheme
		return nil
	}
}

// New makes a policy. The first call in a process compiles the module.
func New(ctx context.Context, options ...Option) (*Policy, error) {
	p := &Policy{settings: json.RawMessage("{}"), releases: AllReleases()}
	for _, option := range options {
		if err := option(p); err != nil {
			return nil, err
		}
	}
	var err error
	if p.module, err = loaded(); err != nil {
		return nil, err
	}
	if err := p.verifySettings(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// made tells a policy from the zero value.
func (p *Policy) made() error {
	if p == nil || p.module == nil {
		return errors.New("managedby: a Policy that New did not make")
	}
	return nil
}

func (p *Policy) verifySettings(ctx context.Context) error {
	answer, err := p.module.call(ctx, "validate_settings", p.settings)
	if err != nil {
		return err
	}
	var response struct {
		Valid   bool   `json:"valid"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(answer, &response); err != nil {
		return fmt.Errorf("managedby: the module's answer: %w", err)
	}
	if !response.Valid {
		return fmt.Errorf("managedby: settings: %s", response.Message)
	}
	return nil
}
