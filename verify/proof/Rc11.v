(** The rule of exchanges: on a location that read-modify-writes alone change, modification order is
    inside happens-before. The axioms of an execution, which `docs/proof.md` names, are the fields
    of [consistent], not axioms of Coq. *)

Require Import List Relations Wellfounded Lia Arith.
Import ListNotations.

(** * Executions *)

Inductive kind := Read | Write | Rmw | Fence.

(** [Plain] is not atomic. *)
Inductive mode := Plain | Rlx | Acq | Rel | AcqRel | Sc.

Definition releases m := match m with Rel | AcqRel | Sc => true | _ => false end.
Definition acquires m := match m with Acq | AcqRel | Sc => true | _ => false end.

Record execution := {
  event : Type;
  kind_of : event -> kind;
  mode_of : event -> mode;
  (** Nothing for a fence. *)
  loc : event -> option nat;
  (** Nothing for the initial value of a location. *)
  thread : event -> option nat;
  po : event -> event -> Prop;
  rf : event -> event -> Prop;
  mo : event -> event -> Prop
}.

Section Definitions.
  Variable X : execution.
  Notation E := (event X).

  Definition reads (e : E) := kind_of X e = Read \/ kind_of X e = Rmw.
  Definition writes (e : E) := kind_of X e = Write \/ kind_of X e = Rmw.
  Definition atomic (e : E) := mode_of X e <> Plain.
  Definition at_loc (l : nat) (e : E) := loc X e = Some l.

  (** From a write to the exchange that read it. *)
  Definition rf_rmw (w u : E) := rf X w u /\ kind_of X u = Rmw.

  (** Release sequences run through any number of exchanges, of any mode and by any thread. *)
  Definition release_sequence := clos_refl_trans E rf_rmw.

  (** A release is made by the access itself or by a fence before it; an acquire likewise. *)
  Definition release_of (start write : E) :=
    releases (mode_of X start) = true /\ writes write /\ atomic write /\
    (start = write \/ kind_of X start = Fence /\ po X start write).
  Definition acquire_of (read stop : E) :=
    acquires (mode_of X stop) = true /\ reads read /\ atomic read /\
    (read = stop \/ kind_of X stop = Fence /\ po X read stop).

  Definition sw (a b : E) :=
    thread X a <> thread X b /\
    exists w v r, release_of a w /\ release_sequence w v /\ rf X v r /\ acquire_of r b.

  Definition initial_first (a b : E) := thread X a = None /\ thread X b <> None.

  Definition hb := clos_trans E (fun a b => po X a b \/ sw a b \/ initial_first a b).

  (** A read comes before each write that replaces what it read. *)
  Definition fr (r b : E) := exists w, rf X w r /\ mo X w b /\ r <> b.

  Definition eco := clos_trans E (fun a b => rf X a b \/ mo X a b \/ fr a b).

  (** The axioms that the proofs use. *)
  Record consistent : Prop := {
    po_total : forall a b t, thread X a = Some t -> thread X b = Some t ->
      a = b \/ po X a b \/ po X b a;
    rf_reads : forall w r, rf X w r ->
      writes w /\ reads r /\ loc X w = loc X r /\ loc X w <> None;
    reads_one : forall r, reads r -> exists w, rf X w r;
    mo_writes : forall a b, mo X a b -> writes a /\ writes b /\ loc X a = loc X b;
    mo_trans : transitive E (mo X);
    mo_total : forall a b, writes a -> writes b -> loc X a = loc X b -> loc X a <> None ->
      a = b \/ mo X a b \/ mo X b a;
    (** Going back from a write ends, as it does among finitely many events. *)
    mo_wf : well_founded (mo X);
    (** `hb; eco?` is irreflexive. *)
    hb_irreflexive : forall a, ~ hb a a;
    coherence : forall a b, hb a b -> ~ eco b a;
    (** An exchange comes right after the write that it read. *)
    atomicity : forall w u, rf_rmw w u ->
      mo X w u /\ forall v, mo X w v -> ~ mo X v u
  }.
End Definitions.

Lemma closure_inside : forall (A : Type) (R S : A -> A -> Prop),
  inclusion A R S -> transitive A S -> inclusion A (clos_trans A R) S.
Proof. intros A R S inside trans a b H. induction H; eauto. Qed.

Local Hint Unfold hb eco : core.
Local Hint Resolve t_step : core.

(** * The rule *)

Section Rule.
  Variable X : execution.
  Hypothesis C : consistent X.
  Notation E := (event X).
  Notation hb := (hb X).
  Notation mo := (mo X).

  Lemma differs : forall a b, mo a b -> a <> b.
  Proof. intros a b M ->. induction (mo_wf X C b) as [b _ IH]. exact (IH b M M). Qed.

  Lemma hb_trans : forall a b c, hb a b -> hb b c -> hb a c.
  Proof. intros a b c. apply t_trans. Qed.

  (** What reads and writes comes right after the write that it read. *)
  Lemma nothing_between : forall w v u, rf X w u -> writes X u -> mo w v -> ~ mo v u.
  Proof.
    intros w v u F W. destruct (rf_reads X C w u F) as (_ & [K | K] & _), W; try congruence;
      apply (atomicity X C w u (conj F K)).
  Qed.

  (** Every write after [a] up to [b], in modification order, is a read-modify-write. A plain
      store that comes later than [b] does not matter. *)
  Definition exchanged_up_to (a b : E) :=
    forall w, mo a w -> w = b \/ mo w b -> kind_of X w = Rmw.

  (** [w] is [a], or exchanges alone have made it of [a]. *)
  Definition leads_to (a w : E) := a = w \/ mo a w /\ exchanged_up_to a w.

  Lemma exchange_before : forall a b, mo a b -> exchanged_up_to a b ->
    exists w, rf_rmw X w b /\ mo w b /\ leads_to a w.
  Proof.
    intros a b M only. assert (K : kind_of X b = Rmw) by (apply only; auto).
    destruct (reads_one X C b (or_intror K)) as (w & F). exists w.
    destruct (atomicity X C w b (conj F K)) as (Mw & next). repeat split; auto.
    destruct (mo_writes X C _ _ M) as (Wa & _ & at_a).
    destruct (rf_reads X C _ _ F) as (Ww & _ & at_w & some).
    destruct (mo_total X C a w Wa Ww) as [-> | [Maw | Mwa]]; try congruence.
    - now left.
    - right. split; auto. intros v Mv [-> | Mvw]; apply only; auto.
      right. exact (mo_trans X C _ _ _ Mvw Mw).
    - destruct (next a Mwa M).
  Qed.

  (** By going back from [w], exchange by exchange, one arrives at [a]. *)
  Lemma chain : forall a w, leads_to a w -> release_sequence X a w.
  Proof.
    intros a w. induction (mo_wf X C w) as [w _ earlier]. intros [-> | (M & only)].
    - apply rt_refl.
    - destruct (exchange_before a w M only) as (v & F & Mv & from).
      exact (rt_trans _ _ _ _ _ (earlier v Mv from) (rt_step _ _ _ _ F)).
  Qed.

  Definition published (a : E) := writes X a /\ releases (mode_of X a) = true /\ thread X a <> None.

  (** The edge, made by whatever reads from the release sequence of [a]. Inside of one thread it is
      program order, which coherence forbids to be the other way round. *)
  Lemma synchronizes : forall a w r, published a -> leads_to a w -> rf X w r ->
    acquires (mode_of X r) = true -> thread X r <> None -> a <> r -> hb a r.
  Proof.
    intros a w r (W & R & some') from F A some differ. apply t_step.
    destruct (thread X a) as [s|] eqn:S, (thread X r) as [t|] eqn:T; try contradiction.
    destruct (Nat.eq_dec s t) as [<- | other].
    - destruct (po_total X C a r s S T) as [| [P | P]]; [contradiction | auto |].
      destruct (coherence X C r a); auto.
      destruct from as [-> | (M & _)]; [auto | apply t_trans with w; auto].
    - right. left. split; [congruence |]. exists a, w, r.
      destruct (rf_reads X C _ _ F) as (_ & ? & _).
      repeat split; auto using chain; intros P; rewrite P in *; discriminate.
  Qed.

  (** The rule of exchanges. What lies between may have any mode: only [a] must release, and only
      [b] must acquire. *)
  Theorem exchange_after_exchange : forall a b,
    mo a b -> exchanged_up_to a b -> published a ->
    acquires (mode_of X b) = true -> thread X b <> None -> hb a b.
  Proof.
    intros a b M only pub A some. destruct (exchange_before a b M only) as (w & (F & _) & _ & from).
    exact (synchronizes a w b pub from F A some (differs a b M)).
  Qed.

  Theorem load_after_exchange : forall a w r,
    rf X w r -> kind_of X r = Read -> leads_to a w ->
    published a -> acquires (mode_of X r) = true -> thread X r <> None -> hb a r.
  Proof.
    intros a w r F K from pub A some. apply (synchronizes a w r); auto.
    intros ->. destruct pub as ([] & _); congruence.
  Qed.

  Corollary exchanges_order_the_rest : forall before a b after,
    mo a b -> exchanged_up_to a b -> published a ->
    acquires (mode_of X b) = true -> thread X b <> None ->
    po X before a -> po X b after -> hb before after.
  Proof.
    intros. apply hb_trans with a; auto. apply hb_trans with b; auto using exchange_after_exchange.
  Qed.

  (** A location that, after its creation by [c], only exchanges of [AcqRel] change, and only loads
      of [Acq] read. *)
  Record exchanged (l : nat) (c : E) : Prop := {
    creation : writes X c /\ at_loc X l c /\ thread X c = None;
    changes : forall w, writes X w -> at_loc X l w -> w <> c ->
      kind_of X w = Rmw /\ published w /\ acquires (mode_of X w) = true;
    looks : forall r, kind_of X r = Read -> at_loc X l r ->
      acquires (mode_of X r) = true /\ thread X r <> None
  }.

  Section Location.
    Variables (l : nat) (c : E).
    Hypothesis only : exchanged l c.

    Ltac here := unfold at_loc in *; congruence.

    Lemma mo_here : forall a b, mo a b -> at_loc X l a \/ at_loc X l b ->
      writes X a /\ writes X b /\ at_loc X l a /\ at_loc X l b.
    Proof.
      intros a b M at_one. destruct (mo_writes X C a b M) as (? & ? & same).
      destruct at_one; repeat split; auto; here.
    Qed.

    (** The creation comes first: going back from it would never end. *)
    Lemma creation_first : forall w, ~ mo w c.
    Proof.
      intros w. induction (mo_wf X C w) as [w _ earlier]. intros M.
      destruct (mo_here w c M) as (W & _ & at_w & _); [right; apply (creation _ _ only) |].
      destruct (changes _ _ only w W at_w (differs _ _ M)) as (K & _).
      destruct (reads_one X C w (or_intror K)) as (v & F).
      destruct (atomicity X C v w (conj F K)) as (Mv & _).
      exact (earlier v Mv (mo_trans X C _ _ _ Mv M)).
    Qed.

    Lemma later_exchanges : forall a b, at_loc X l a -> mo a b ->
      kind_of X b = Rmw /\ published b /\ acquires (mode_of X b) = true.
    Proof.
      intros a b at_a M. destruct (mo_here a b M) as (_ & W & _ & at_b); auto.
      apply (changes _ _ only); auto. intros ->. exact (creation_first a M).
    Qed.

    Lemma sources : forall a, writes X a -> at_loc X l a ->
      published a \/ forall b, thread X b <> None -> hb a b.
    Proof.
      intros a W at_a. destruct (creation _ _ only) as (Wc & at_c & T).
      destruct (mo_total X C a c W Wc) as [-> | [M | M]]; try here.
      - right. intros b some. apply t_step. right. right. split; assumption.
      - destruct (creation_first a M).
      - left. apply (later_exchanges c a at_c M).
    Qed.

    Theorem mo_inside_hb : forall a b, at_loc X l a -> mo a b -> hb a b.
    Proof.
      intros a b at_a M. destruct (mo_here a b M) as (W & _); auto.
      destruct (later_exchanges a b at_a M) as (_ & (_ & _ & T) & A).
      destruct (sources a W at_a) as [pub | first]; [| exact (first b T)].
      apply exchange_after_exchange; auto. intros w Mw _. apply (later_exchanges a w at_a Mw).
    Qed.

    Theorem rf_inside_hb : forall w r, at_loc X l w -> rf X w r -> hb w r.
    Proof.
      intros w r at_w F. destruct (rf_reads X C _ _ F) as (W & [K | K] & same & _).
      2:{ apply mo_inside_hb; auto. exact (proj1 (atomicity X C w r (conj F K))). }
      destruct (looks _ _ only r K) as (A & T); [here |].
      destruct (sources w W at_w) as [pub | first]; [| exact (first r T)].
      apply (load_after_exchange w w r); auto. now left.
    Qed.

    Definition fr_here (r b : E) := at_loc X l b /\ fr X r b.
    Definition before (a b : E) := a = b \/ hb a b.

    Lemma before_trans : transitive E before.
    Proof. intros a b d [<- | H] [<- | H']; unfold before; eauto using hb_trans. Qed.

    (** What replaces what a later read has seen also replaces what an earlier one has seen. *)
    Lemma fr_fr : forall r b y d, fr_here r b -> before b y -> fr_here y d -> fr_here r d.
    Proof.
      intros r b y d (at_b & w & F & M & _) order (at_d & Y).
      assert (Y' := Y). destruct Y' as (v & G & N & differ).
      destruct (mo_here w b M) as (_ & Wb & _), (mo_here v d N) as (_ & Wd & _); auto.
      assert (later : mo b d).
      { destruct (mo_total X C b d) as [-> | [later | sooner]]; auto; try here;
          destruct order as [<- | H].
        - congruence.
        - destruct (coherence X C _ _ H). auto.
        - destruct (nothing_between v d b G Wb N sooner).
        - destruct (coherence X C _ _ H). apply t_trans with d; auto. }
      split; auto. exists w. repeat split; [exact F | exact (mo_trans X C _ _ _ M later) |].
      intros ->. exact (nothing_between w b d F Wd M later).
    Qed.

    (** What an interleaving has to keep: happens-before, and each look before the exchange that
        replaces what it saw. Modification order and reads-from are inside happens-before. *)
    Definition step a b := hb a b \/ (at_loc X l a /\ (rf X a b \/ mo a b)) \/ fr_here a b.

    (** Of any number of steps, one look at most is left that happens-before does not have. *)
    Lemma cut : forall a d, clos_trans E step a d ->
      hb a d \/ exists r w, before a r /\ fr_here r w /\ before w d.
    Proof.
      assert (inside : forall a b, step a b -> hb a b \/ fr_here a b)
        by (intros a b [H | [(at_a & [F | M]) | R]]; auto using rf_inside_hb, mo_inside_hb).
      intros a d path. apply clos_trans_t1n in path.
      induction path as [a b S | a b d S _ IH]; apply inside in S as [H | R]; auto.
      - right. exists a, b. unfold before. auto.
      - destruct IH as [H' | (r & w & A & R)]; [left | right; exists r, w].
        + exact (hb_trans _ _ _ H H').
        + exact (conj (before_trans _ _ _ (or_intror H) A) R).
      - right. destruct IH as [H | (r & w & A & R' & B)]; [exists a, b | exists a, w];
          unfold before; eauto using fr_fr.
    Qed.

    (** No cycle: the events have an order in which each exchange and each look at the location
        finds the last value before it. *)
    Theorem one_location_interleaves : forall a, ~ clos_trans E step a a.
    Proof.
      intros a cycle. destruct (cut a a cycle) as [H | (r & w & A & (_ & R) & B)];
        [exact (hb_irreflexive X C a H) |].
      destruct (before_trans _ _ _ B A) as [<- | H].
      - destruct R as (? & _ & _ & differ). congruence.
      - destruct (coherence X C _ _ H). auto.
    Qed.
  End Location.
End Rule.

(** * Without acquire

    The first thread writes data and makes an exchange; the second one makes a later exchange, and
    reads the data. If its exchange does not acquire, the axioms allow that it reads the old data:
    the chain of exchanges is there, but no edge at its end. *)

Inductive step_of := InitWord | InitData | WriteData | First | Second | ReadData.

Section Example.
  Variable second : mode.

  Definition message_passing : execution := {|
    event := step_of;
    kind_of e := match e with First | Second => Rmw | ReadData => Read | _ => Write end;
    mode_of e := match e with First => Rel | Second => second | _ => Plain end;
    loc e := match e with InitWord | First | Second => Some 0 | _ => Some 1 end;
    thread e := match e with
      | InitWord | InitData => None | WriteData | First => Some 1 | Second | ReadData => Some 2 end;
    po a b := In (a, b) [(WriteData, First); (Second, ReadData)];
    rf a b := In (a, b) [(InitWord, First); (First, Second); (InitData, ReadData)];
    mo a b := In (a, b)
      [(InitWord, First); (InitWord, Second); (First, Second); (InitData, WriteData)]
  |}.
  Notation X := message_passing.

  (** Tries all events, with all edges between them. *)
  Ltac try_all := intros; simpl in *; repeat match goal with
    | _ => discriminate
    | H : _ /\ _ |- _ => destruct H
    | H : _ \/ _ |- _ => destruct H
    | H : (_, _) = (_, _) |- _ => inversion H; clear H; subst
    | e : step_of |- _ => destruct e
    end; simpl in *; intuition (congruence || lia).

  Lemma eco_bounded : forall a b, eco X a b -> loc X a = loc X b /\ thread X b <> None.
  Proof.
    apply closure_inside; [| unfold transitive; intuition congruence].
    intros a b [F | [M | (w & F & M & D)]]; try_all.
  Qed.

  Definition time e := match e with
    | InitWord | InitData => 0 | WriteData => 1 | First => 2 | Second => 3 | ReadData => 4 end.

  (** Allowed, by "no thin air" as well; without SC events `psc` is empty. The read and the write of
      the data race, and the read returns what is outdated. *)
  Theorem without_acquire_the_rule_fails : acquires second = false ->
    consistent X /\ mo X First Second /\ exchanged_up_to X First Second /\ published X First /\
    ~ hb X First Second /\ ~ hb X WriteData ReadData /\ ~ hb X ReadData WriteData /\
    (forall a, ~ clos_trans _ (fun a b => po X a b \/ rf X a b) a a).
  Proof.
    intros A. assert (H : forall a b, hb X a b -> po X a b \/ initial_first X a b).
    { (* Nothing synchronizes. *)
      apply closure_inside; [| unfold transitive, initial_first; try_all].
      intros a b [P | [(_ & w & v & r & _ & _ & _ & Q & _) | I]]; auto.
      destruct b; simpl in *; congruence. }
    unfold initial_first in H.
    split; [constructor; unfold reads, writes, transitive, rf_rmw |].
    3: intros r R; exists match r with First => InitWord | Second => First | _ => InitData end.
    1-6, 10: try_all.
    - apply (wf_incl _ _ (ltof _ time)); [| apply well_founded_ltof].
      unfold inclusion, ltof. try_all.
    - intros a B. apply H in B. try_all.
    - intros a b B O. apply H in B. apply eco_bounded in O. try_all.
    - repeat split; try (intros B; apply H in B);
        try (intros a cycle; apply (closure_inside _ _ (ltof _ time)) in cycle);
        unfold exchanged_up_to, writes, inclusion, transitive, ltof in *; try_all.
  Qed.

  (** With it, the same graph is forbidden: the proof has its last edge again. *)
  Theorem with_acquire_it_is_forbidden : acquires second = true -> ~ consistent X.
  Proof.
    intros A C. apply (coherence _ C WriteData ReadData).
    - apply (exchanges_order_the_rest _ C WriteData First Second ReadData);
        unfold exchanged_up_to, published, writes; try_all.
    - apply t_step. right. right. exists InitData. try_all.
  Qed.
End Example.
