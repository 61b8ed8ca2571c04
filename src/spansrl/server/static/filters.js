// Settings of the page, and what they leave of a result.

import { predicateWords } from "./sentence.js";

export const TYPES = ["verb", "noun", "adjective", "auxiliary"];
// Without a `minProb`, arguments are shown from the model's own limits on, as in Python.
export const DEFAULTS = { types: ["verb", "noun", "adjective"], find: "", minProb: null };

// The result in the same format, without the predicates and arguments that the settings hide.
export function filtered(result, settings) {
  const sentences = result.sentences.map((sentence) => ({
    ...sentence,
    props: sentence.props
      .filter((prop) => isShown(sentence, prop, settings))
      .map((prop) => ({ ...prop, args: prop.args.filter((arg) => (arg.prob ?? 1) >= (settings.minProb ?? prop.min_prob ?? 0)) })),
  }));
  return { ...result, sentences };
}

function isShown(sentence, prop, { types, find }) {
  return (!prop.type || types.includes(prop.type)) && matches(sentence, prop, find);
}

function matches(sentence, prop, find) {
  const wanted = find.trim().toLowerCase();
  const names = [predicateWords(sentence, prop), prop.lemma, prop.sense, prop.type];
  return !wanted || names.some((name) => name?.toLowerCase().startsWith(wanted));
}

export const propsIn = (result) => result.sentences.flatMap((sentence) => sentence.props);
export const argsIn = (result) => propsIn(result).flatMap((prop) => prop.args);
