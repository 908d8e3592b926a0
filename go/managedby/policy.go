package managedby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// Policy judges requests with the settings that it was made with. Many goroutines may use it at once.
type Policy struct {
	module   *module
	settings json.RawMessage
	releases Releases
	user     authenticationv1.UserInfo
}

// Option changes what [New] makes.
type Option func(*Policy) error

// WithSettings gives the policy's settings as JSON; without them they are {}. They are those of a Kubewarden manifest:
// https://github.com/managed-by-policy/managed-by-policy/blob/main/docs/settings.md. New refuses settings that a policy
// server would refuse, with every problem found.
//
// The key kubernetes_version counts for [Policy.Review] alone: whatever checks for many releases sets it itself.
func WithSettings(settings []byte) Option {
	return func(p *Policy) error {
		p.settings = slices.Clone(settings)
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
