import { Label, Radio, RadioGroup } from "react-aria-components";
import { chooseLanguage, LANGUAGES, useLanguage, useWords, type Language } from "../words/words.ts";
import { chooseTheme, THEMES, useTheme, type Theme } from "./theme.ts";

/** Appearance and language, kept by this browser. */
export function Preferences() {
  const { common } = useWords();
  const language = useLanguage();
  const theme = useTheme();
  return (
    <div className="preferences">
      <RadioGroup
        className="segments"
        orientation="horizontal"
        value={theme}
        onChange={(value) => chooseTheme(value as Theme)}
      >
        <Label>{common.theme}</Label>
        <div>
          {THEMES.map((one) => (
            <Radio key={one} value={one}>
              {common.themes[one]}
            </Radio>
          ))}
        </div>
      </RadioGroup>
      <RadioGroup
        className="segments"
        orientation="horizontal"
        value={language}
        onChange={(value) => void chooseLanguage(value as Language)}
      >
        <Label>{common.language}</Label>
        <div>
          {Object.entries(LANGUAGES).map(([one, name]) => (
            <Radio key={one} value={one} lang={one}>
              {name}
            </Radio>
          ))}
        </div>
      </RadioGroup>
    </div>
  );
}
