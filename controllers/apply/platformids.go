package apply

import "context"

// PlatformIDs tells whether the platform chooses users and groups of Pods, where the spec names none. Nil: it does not.
type PlatformIDs func(context.Context) (bool, error)

// Ask tells it, also where there is nothing to ask.
func (p PlatformIDs) Ask(ctx context.Context) (bool, error) {
	if p == nil {
		return false, nil
	}
	return p(ctx)
}
