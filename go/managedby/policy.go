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

// Policy checks requests with its settings. [New] creates one. It is safe for concurrent use.
type Policy struct {
	module   *module
	settings json.RawMessage
	releases Releases
	user     authenticationv1.UserInfo
	scheme   *runtime.Scheme
}

// Option configures a [Policy].
type Option func(*Policy) error

// TestOption marks the options that test packages such as managedbyclient accept besides their own.
func (Option) TestOption() {}

// WithSettings sets the policy's settings as JSON or YAML, by default {}. They have the same keys as in a Kubewarden manifest:
// https://managed-by-policy.github.io/managed-by-policy/reference/settings.html. For invalid settings, New returns an error with
// the problems, at most 50.
//
// Only [Policy.Review] uses the key kubernetes_version. The other methods evaluate the releases in [WithReleases].
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
			return errors.New("managedby: settings: empty document; use {} for the default settings")
		}
		return nil
	}
}

// WithReleases sets the releases to evaluate, such as V1_36 or "1.36.3". The default is all releases.
func WithReleases(releases ...Release) Option {
	return func(p *Policy) error {
		if len(releases) == 0 {
			return errors.New("managedby: WithReleases needs a release")
		}
		p.releases = nil
		for _, version := range releases {
			release, err := ParseRelease(string(version))
			if err != nil {
				return err
			}
			p.releases = p.releases.with(Releases{release})
		}
		return nil
	}
}

// WithUser sets the user of the writes, for settings that list status writers. [Policy.Review] uses the user in the request.
func WithUser(user authenticationv1.UserInfo) Option {
	return func(p *Policy) error {
		p.user = user
		return nil
	}
}

// WithScheme sets the scheme from which [Policy.Check] takes the kind of objects without TypeMeta. The default scheme contains batch/v1.
func WithScheme(scheme *runtime.Scheme) Option {
	return func(p *Policy) error {
		p.scheme = scheme
		return nil
	}
}

// New creates a policy. The first call in a process compiles the module.
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

// checkInitialized returns an error for a policy that New did not create.
func (p *Policy) checkInitialized() error {
	if p == nil || p.module == nil {
		return errors.New("managedby: the Policy was not created with New")
	}
	return nil
}

func (p *Policy) verifySettings(ctx context.Context) error {
	body, err := p.module.call(ctx, "validate_settings", p.settings)
	if err != nil {
		return err
	}
	var response struct {
		Valid   bool   `json:"valid"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return fmt.Errorf("managedby: decode the module's response: %w", err)
	}
	if !response.Valid {
		return fmt.Errorf("managedby: settings: %s", response.Message)
	}
	return nil
}
