package accessplan

import (
	"regexp"
	"strings"
)

// ofMember is the common name of a member's certificate.
var ofMember = regexp.MustCompile(`^-[0-9]+$`)

// maxUser is how long a common name of a certificate may be.
const maxUser = 64

func userReserved(o Observation) *Decision {
	rest, isOfCluster := strings.CutPrefix(o.Client.User, o.Cluster.Name)
	switch {
	case o.Client.From != "" && !strings.HasPrefix(o.Client.User, o.Client.From+"."):
		return o.reserved("The user %s does not begin with %s. as that of a client of another "+
			"namespace has to. So no namespace can have the user of another.", o.Client.User, o.Client.From)
	case len(o.Client.User) > maxUser:
		return o.reserved("The user %s is longer than the 64 characters that a certificate can "+
			"name.", o.Client.User)
	case o.Client.User == "root":
		return o.reserved("The user root is the operator.")
	case isOfCluster && rest == "-client":
		return o.reserved("The user %s is that of all clients of the Secret %s-tls.", o.Client.User,
			o.Client.User)
	case isOfCluster && ofMember.MatchString(rest):
		return o.reserved("The user %s has the name of a member, whose certificate would have "+
			"the same rights.", o.Client.User)
	}
	return nil
}

func (o Observation) reserved(why string, parts ...any) *Decision {
	return waits(ReasonUserReserved, why+" The operator changes nothing for this EtcdClient. Delete it, and create "+
		"one with another spec.user.", parts...).troubled()
}

func userClaimed(o Observation) *Decision {
	if o.Client.OlderUser == "" {
		return nil
	}
	return waits(ReasonUserClaimed, "The EtcdClient %s, which is older, has the user %s of this cluster. This one "+
		"waits until that is deleted. To have both, delete this one, and create it with another spec.user.",
		o.Client.OlderUser, o.Client.User).troubled()
}

func secretClaimed(o Observation) *Decision {
	if o.Client.OlderSecret == "" {
		return nil
	}
	return waits(ReasonSecretClaimed, "The EtcdClient %s, which is older, has the Secret %s. This one waits until "+
		"that is deleted. To have both, delete this one, and create it with another spec.secretName.",
		o.Client.OlderSecret, o.Client.Secret).troubled()
}

// secretTaken comes before etcd: a client that cannot have its Secret needs no user.
func secretTaken(o Observation) *Decision {
	switch o.Secret.State {
	case SecretForeign:
		return waits(ReasonSecretTaken, "There is a Secret %s that is not of this EtcdClient. The operator does not "+
			"touch it. Delete that Secret, or create another EtcdClient with another spec.secretName.",
			o.Client.Secret).troubled()
	case SecretTerminating:
		return waits(ReasonSecretTaken, "The Secret %s is being deleted. The operator writes it anew once it is gone.",
			o.Client.Secret)
	case SecretAbsent, SecretOwn:
	}
	return nil
}
