(** The handshake of `joint-executor/src/sleep.rs`, on `psc` and for any number of workers: a push
    and a worker that goes to sleep each write one place, have a fence, and read the other's. *)

Require Import Relations Rc11.

Section Fences.
  Variable X : execution.
  Hypothesis C : consistent X.
  Notation E := (event X).
  Notation hb := (hb X).

  (** A read, and a write of another event that it may see. *)
  Definition meet (r w : E) := reads X r /\ writes X w /\ loc X r = loc X w /\ r <> w.

  (** The read finds this write or a later one. *)
  Definition sees (r w : E) := exists v, rf X v r /\ (v = w \/ mo X w v).

  Lemma sees_or_misses : forall r w, meet r w -> sees r w \/ fr X r w.
  Proof.
    intros r w (R & W & same & differ). destruct (reads_one X C r R) as (v & F).
    destruct (rf_reads X C v r F) as (V & _ & at_r & some).
    destruct (mo_total X C v w V W) as [-> | [M | M]]; try congruence; unfold sees, fr; eauto 6.
  Qed.

  Lemma sees_what_is_before : forall r w v, meet r w -> v = w \/ mo X w v -> hb v r -> sees r w.
  Proof.
    intros r w v M order B. destruct (sees_or_misses r w M) as [| Missed]; auto.
    destruct (coherence X C v r B), order as [-> | later]; [| apply t_trans with w];
      apply t_step; auto.
  Qed.

  Definition sc_fence (e : E) := kind_of X e = Fence /\ mode_of X e = Sc.

  (** The part of `psc` that the proofs use: `[F sc]; hb; fr; hb; [F sc]`. *)
  Definition psc (f g : E) :=
    sc_fence f /\ sc_fence g /\ exists r w, hb f r /\ fr X r w /\ hb w g.

  Hypothesis psc_acyclic : forall f, ~ clos_trans E psc f f.

  (** A side: it writes, has a fence, and reads. *)
  Definition side (w f r : E) := hb w f /\ sc_fence f /\ hb f r.

  Lemma not_both_are_missed : forall w f r w' f' r',
    side w f r -> side w' f' r' -> fr X r w' -> fr X r' w -> False.
  Proof.
    intros w f r w' f' r' (B & S & A) (B' & S' & A') M M'.
    apply (psc_acyclic f). apply t_trans with f'; apply t_step; unfold psc; eauto 8.
  Qed.

  (** P1, P2 and P3 are the push, S1, S2 and S3 the worker that goes to sleep. *)
  Theorem a_push_or_a_sleeper_sees_the_other : forall p1 p2 p3 s1 s2 s3,
    side p1 p2 p3 -> side s1 s2 s3 -> meet p3 s1 -> meet s3 p1 -> sees p3 s1 \/ sees s3 p1.
  Proof.
    intros. destruct (sees_or_misses p3 s1), (sees_or_misses s3 p1); auto.
    exfalso. eauto using not_both_are_missed.
  Qed.

  (** A push that relied on a lookout has read the counts before that one left, by [left]. All that
      leave do so by exchanges of the counts, in an order. So whoever leaves as the last lookout,
      which may be another worker, sees the push. *)
  Theorem the_last_lookout_sees_the_push : forall p1 p2 p3 left s1 s2 s3,
    side p1 p2 p3 -> side s1 s2 s3 -> fr X p3 left -> left = s1 \/ mo X left s1 -> p3 <> s1 ->
    meet s3 p1 -> sees s3 p1.
  Proof.
    intros p1 p2 p3 left s1 s2 s3 P S (v & F & M & D) order differ at_s3.
    destruct (sees_or_misses s3 p1 at_s3) as [| Missed]; auto.
    destruct (not_both_are_missed _ _ _ _ _ _ P S) with (2 := Missed).
    exists v. repeat split; auto. destruct order as [-> | later]; auto.
    exact (mo_trans X C _ _ _ M later).
  Qed.

  (** By an exchange [a] that is a release or comes after the fence [f], and a later one [b] that is
      an acquire or comes before the fence [g]. *)
  Definition passes (f a b g : E) := release_of X f a /\ acquire_of X b g /\
    thread X f <> thread X g /\ exchanged_up_to X a b.

  Lemma passed_on : forall f a b g, passes f a b g -> mo X a b -> hb f g.
  Proof.
    intros f a b g (R & A & other & only) M.
    destruct (exchange_before X C a b M only) as (w & (F & _) & _ & from).
    apply t_step. right. left. split; [exact other |]. exists a, w, b. auto using (chain X C).
  Qed.

  (** A yield makes no fence: P2 is its [take], an exchange of a ring. The last lookout makes one as
      well, after its fence. *)
  Theorem a_yield_or_the_last_lookout_sees_the_other : forall p1 take p3 s1 s2 look s3,
    hb p1 take -> hb take p3 -> hb s1 s2 -> hb look s3 ->
    passes take take look look -> passes s2 look take take -> mo X take look \/ mo X look take ->
    meet p3 s1 -> meet s3 p1 -> sees p3 s1 \/ sees s3 p1.
  Proof.
    intros p1 take p3 s1 s2 look s3 P P' S S' T L [M | M] at_p3 at_s3; [right | left];
      eapply sees_what_is_before; eauto 7 using passed_on, hb_trans.
  Qed.

  (** The ring of a parked worker may be left out: that worker counts itself before it takes. *)
  Theorem a_worker_that_counts_itself_sees_who_left : forall s1 counted p3,
    mo X s1 counted -> hb counted p3 -> meet p3 s1 -> sees p3 s1.
  Proof. eauto using sees_what_is_before. Qed.

  (** A batch is in its new queue before the searcher that took it leaves, by a release. The fence
      of whoever leaves later acquires that. *)
  Theorem the_last_lookout_sees_a_batch : forall batch left s1 s2 s3,
    hb batch left -> passes left left s1 s2 -> mo X left s1 -> hb s2 s3 ->
    meet s3 batch -> sees s3 batch.
  Proof. intros. eapply sees_what_is_before; eauto 7 using passed_on, hb_trans. Qed.
End Fences.
