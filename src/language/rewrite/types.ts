/** Each key is the preferred spelling, its value the spellings it replaces. */
export type SpellingDictionary = Record<string, string[]>;

export type VocabularyItem =
  | string
  | {
      value: string;
      intensity?: number | undefined;
      pronunciations?: string[] | undefined;
      language?: string | undefined;
    };

/** The part of a request's `realtime_processing` (or of a job's settings) that changes words. */
export type RewriteSettings = {
  custom_vocabulary?: boolean | undefined;
  custom_vocabulary_config?:
    { vocabulary: VocabularyItem[]; default_intensity?: number | undefined } | null | undefined;
  custom_spelling?: boolean | undefined;
  custom_spelling_config?: { spelling_dictionary: SpellingDictionary } | null | undefined;
  /** Sentences and capitals for a model that writes none. */
  punctuation_enhanced?: boolean | undefined;
};
