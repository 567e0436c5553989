(** What the other files share. *)

(** [s <| field := v |>] is the record [s] with [v] in that field. *)
Class Setter {R T : Type} (field : R -> T) := set : T -> R -> R.
Arguments set {R T} field {Setter} v s /.

Ltac setter := lazymatch goal with |- Setter ?field =>
  clear; intros v s; destruct s eqn:built;
  lazymatch type of built with _ = ?parts =>
    let old := eval cbv in (field parts) in
    lazymatch eval pattern old in parts with ?with_field _ => exact (with_field v) end
  end end.
Global Hint Extern 1 (Setter _) => setter : typeclass_instances.

Notation "s <| field := v |>" := (set field v s) (at level 12, left associativity).

(** All that the hypotheses say, in single facts. *)
Ltac facts := repeat match goal with
  | H : _ /\ _ |- _ => destruct H
  | H : exists _, _ |- _ => destruct H
  | H : ?a = ?a -> _ |- _ => specialize (H eq_refl)
  | H : ?constructor _ = ?constructor _ |- _ => injection H as H
  | H : ?constructor _ _ = ?constructor _ _ |- _ => injection H as H
  end; subst.

(** The states that any number of steps leads to. *)
Inductive reachable {S L} (start : S) (step : S -> L -> S -> Prop) : S -> Prop :=
  | at_start : reachable start step start
  | after_step s l s' : reachable start step s -> step s l s' -> reachable start step s'.
