package report

import (
	"fmt"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// ownCAs warns of CAs that the operator did not make, while one of them signs: the operator goes on with it, and a
// person has to look after what comes next.
func (in Input) ownCAs() []string {
	var all []string
	for _, ca := range in.Observation.Objects {
		if ca.CA && ca.State == facts.ObjectCurrent && ca.HasCopy() {
			all = append(all, in.lostSource(ca), in.endingCA(ca), in.unansweredRotation(ca))
		}
	}
	return all
}

// lostSource tells that the Secret of the person is gone, or wrong by now, or that the issuer would sign no more.
func (in Input) lostSource(ca facts.Object) string {
	from := ca.Source
	isAsked := from.Origin == facts.OriginIssuer && from.IsAbsent && in.Observation.Now.Sub(from.Asked) < issuersTime
	switch {
	case from.Fault == "" || isAsked:
		return ""
	case from.Origin == facts.OriginIssuer:
		return fmt.Sprintf("%s names %s, and that cannot be used: %s. Certificates go on until they end, and are "+
			"renewed only by it. Put the issuer right. To have the operator make a CA again, take %[1]s out.",
			facts.CAField(ca.Port), from.From, from.Fault)
	}
	return fmt.Sprintf("%s names %s, and that cannot be used: %s. The operator signs with the copy that it has "+
		"in Secret %s, which ends on %s. Put the Secret right. To have the operator make a CA again, take %[1]s out.",
		facts.CAField(ca.Port), from.From, from.Fault, ca.Name, day(ca.CAs[0].NotAfter))
}

// endingCA tells that a CA ends which the operator does not replace by itself.
func (in Input) endingCA(ca facts.Object) string {
	signs := ca.CAs[0]
	if !in.Observation.Now.After(signs.ReplacedFrom()) {
		return ""
	}
	return fmt.Sprintf("The CA for %s ends on %s, and no certificate of it lasts longer. It comes from %s, so "+
		"the operator makes no other one. Put a CA that lasts longer there, and the operator takes it.", ca.Port,
		day(signs.NotAfter), signs.From)
}

// unansweredRotation tells who asks for another CA that the operator does not make it.
func (in Input) unansweredRotation(ca facts.Object) string {
	asked := in.Observation.Desired.Rotation.Asked
	if !ca.CAs[0].Made.Before(asked) || asked.After(in.Observation.Now) {
		return ""
	}
	return fmt.Sprintf("The annotation %s asks for another CA for %s, and %s names %s. The operator makes "+
		"none. Put another CA there, and take the annotation out.", v1alpha1.AnnotationRotateCA, ca.Port,
		facts.CAField(ca.Port), ca.Source.From)
}

// issuersTime is what an issuer may take for an answer before that is told.
const issuersTime = 5 * time.Minute

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
